"""Effect of a caller's turn on a dialog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.actions import Listen
from pipelines.data.dialog.lead import Lead, Wish
from pipelines.data.dialog.state import SPEAKER, Form
from pipelines.dialog.agent.value_list import spoken_name, words_of
from pipelines.dialog.control_words import (
    Control,
    asks_for_human,
    control_of,
    is_refusal,
    leaves,
)
from pipelines.dialog.form_turn import form_turn
from pipelines.dialog.idle_turn import idle_turn
from pipelines.dialog.intent_start import (
    is_sure,
    target_now,
    understood,
)
from pipelines.dialog.keys import answer_by_keys
from pipelines.dialog.led_turn import follow, take_wish
from pipelines.dialog.next_step import (
    ask_what_to_change,
    fulfil,
    speech,
)
from pipelines.dialog.no_match import miss
from pipelines.dialog.steering import repeat, steer
from pipelines.dialog.wishes import divide, target_of

if TYPE_CHECKING:
    from pipelines.data.dialog.actions import Action
    from pipelines.data.dialog.events import Dtmf, Understood
    from pipelines.data.dialog.state import State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step

_GIVEN_UP = re.compile(
    r"\b(?:forget|cancel|drop|leave|skip|scrap|don['\u2019]t want) (?:about )?(?:the|this|that|my|our|your) (\w+)",
    re.IGNORECASE,
)
_STEM = 4
"""Letters that two words for the same act share: "renewal", "renew"."""
MAX_HELD = 4
"""Turns that wait while a fulfilment runs; further ones are told to wait and dropped."""


def hear(agent: Agent, state: State, event: Understood) -> Step:
    """Take a turn of the caller."""
    state = _without_talk(agent, state)
    words = words_of(event.text)
    control = control_of(words)
    if state.fulfilling:
        return _hear_busy(agent, state, event, control)
    state = _spoken_by(agent, replace(_older(state), silences=0), event)
    if not words:
        return miss(agent, state)
    if control is None and leaves(words) and (state.form is not None or target_now(agent, state, event) is None):
        control = Control.GOODBYE
    elif control is None and asks_for_human(words) and not _is_for_another(agent, state, event):
        control = Control.HUMAN
    elif control is None and state.form is not None and _gives_up(agent, state.form, event):
        control = Control.CANCEL
    if control is not None:
        return steer(agent, state, control, event)
    if isinstance(event.lead, Lead):
        return follow(agent, state, event, event.lead)
    first, *others = divide(agent, event, state.form)
    return _hear_wish(agent, replace(state, wishes=(*others, *state.wishes)), first)


def _hear_busy(agent: Agent, state: State, event: Understood, control: Control | None) -> Step:
    """Take a turn while a fulfilment or a check runs."""
    form = state.form
    is_check = form is not None and bool(form.checking)
    if form is not None and is_check and control in {Control.CANCEL, Control.GOODBYE, Control.HUMAN}:
        # Its result counts no more, and it is asked again if the form goes on.
        form = replace(form, checking="", checked={})
        return steer(agent, replace(state, form=form, fulfilling=0, held=()), control, event)
    if not is_check and (control is Control.CANCEL or is_refusal(words_of(event.text))):
        return state, speech(agent, state, agent.form.too_late)
    held = (*state.held, event) if len(state.held) < MAX_HELD else state.held
    return replace(state, held=held), speech(agent, state, agent.form.wait)


def _gives_up(agent: Agent, form: Form, event: Understood) -> bool:
    """Return whether a turn gives up the intent by name: "forget the renewal"."""
    given_up = _GIVEN_UP.search(event.text)
    if given_up is None:
        return False
    named = spoken_name(form.intent)
    name = {part[:_STEM] for part in named.split() if len(part) >= _STEM}
    return given_up[1][:_STEM].lower() in name and target_of(agent, event.understanding, event.text) in {
        None,
        form.intent,
    }


def _is_for_another(agent: Agent, state: State, event: Understood) -> bool:
    """Return whether who asks for a person has another wish as well."""
    target = target_now(agent, state, event)
    return (
        target is not None
        and agent.intents[target].then != "hand_over"
        and (" about " in event.text or is_sure(agent, state, event))
    )


def _spoken_by(agent: Agent, state: State, event: Understood) -> State:
    """Return the state with the turn's speaker, in an agent that declares it."""
    if event.speaker is None or SPEAKER not in agent.form.parameters:
        return state
    return replace(state, parameters={**state.parameters, SPEAKER: event.speaker})


def take_up_wishes(agent: Agent, state: State, actions: tuple[Action, ...]) -> Step:
    """Take up the turn's next wish once the one before is done, or ask on."""
    while state.wishes and not state.ended and not state.fulfilling:
        wish, form = state.wishes[0], state.form
        state = _spoken_by(agent, state, wish)
        if form is not None and _must_wait(agent, form, target_of(agent, wish.understanding, wish.text)):
            break
        state, more = _hear_wish(agent, replace(state, wishes=state.wishes[1:]), wish)
        actions = (*(action for action in actions if not isinstance(action, Listen)), *more)
    return state, actions


def _must_wait(agent: Agent, form: Form, target: str | None) -> bool:
    """Return whether a wish waits until the one under way is done."""
    if target is None or target == form.intent:
        return target is not None
    intent = agent.intents[target]
    return intent.confirm is not None and any(slot.required for slot in intent.slots.values())


def _hear_wish(agent: Agent, state: State, event: Understood) -> Step:
    if isinstance(event.lead, Wish):
        return take_wish(agent, state, event, event.lead)
    if state.form is None:
        return idle_turn(agent, state, event)
    return form_turn(agent, state, state.form, event)


def press(agent: Agent, state: State, event: Dtmf) -> Step:
    """Take keys as an answer: 1 yes, 2 no, ``*`` repeat; drop a final ``#``."""
    state = _without_talk(agent, state)
    if state.fulfilling:
        return state, speech(agent, state, agent.form.wait)
    state = replace(_older(state), silences=0)
    form, keys = state.form, event.keys.rstrip("#")
    if keys == "*":
        return repeat(agent, state)
    taken: Step | None = None
    if form is not None and form.confirming:
        taken = fulfil(agent, state) if keys == "1" else ask_what_to_change(agent, state, form) if keys == "2" else None
    elif form is not None:
        taken = answer_by_keys(agent, state, form, keys)
    return understood(taken) if taken else miss(agent, state)


def _without_talk(agent: Agent, state: State) -> State:
    """End a language model that still talks, and ignore its result."""
    form = state.form
    if (
        not state.fulfilling
        or form is None
        or form.checking
        or agent.intents[form.intent].fulfilment not in agent.talking_fulfilments
    ):
        return state
    return replace(state, fulfilling=0, form=(state.suspended or (None,))[-1], suspended=state.suspended[:-1])


def _older(state: State) -> State:
    """Let contexts grow older by a turn; those whose time is over are dropped."""
    kept = tuple(
        replace(context, turns=context.turns - 1)
        for context in state.contexts
        if context.turns > 0 and (context.until is None or state.now < context.until)
    )
    return replace(state, contexts=kept)
