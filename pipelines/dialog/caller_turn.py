"""Effect of a caller's turn on a dialog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.dialog.actions import Listen, Say
from pipelines.dialog.agent.form import TEXT
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.control_words import (
    Assent,
    Control,
    asks_for_human,
    assent_of,
    begins_to_wait,
    control_of,
    is_done,
    is_refusal,
    is_whole,
    leaves,
)
from pipelines.dialog.intent_start import ask_again, begin, continued, refuse_later, take, target_now, understood
from pipelines.dialog.keys import answer_by_keys
from pipelines.dialog.next_step import (
    ask_anew,
    ask_what_to_change,
    finish,
    fulfil,
    listening,
    proceed,
    question,
    speech,
)
from pipelines.dialog.no_match import miss
from pipelines.dialog.slot_values import read_turn, slot_named
from pipelines.dialog.state import SPEAKER, Form
from pipelines.dialog.steering import repeat, steer
from pipelines.dialog.wishes import divide, is_for_later, target_of
from pipelines.stages.questions import ASKING, PROPOSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.dialog.actions import Action
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.value_list import Word
    from pipelines.dialog.events import Dtmf, Understood
    from pipelines.dialog.next_step import Step
    from pipelines.dialog.slot_values import TurnReading
    from pipelines.dialog.state import State

_CONTINUING = re.compile(r"\W*(?:and|or|what about|how about)\b", re.IGNORECASE)
"""How turns begin that go on with the one before, also where the engine finds their intent: "and on Sundays?"."""
_OFFER = re.compile(
    r"\b(?:shall i|should i|may i|can i|want me to|like me to|i will|i'll)(?: now)? (\w+)", re.IGNORECASE
)
"""Questions with an act that may be said again in place of a yes: "shall I unlock the door?"."""
_PARTS = re.compile(r"[,.;]|\bbut\b|\band\b", re.IGNORECASE)
SURE_CONFIDENCE = 0.75
"""From here on an intent is meant, though a question is answered by documents, or the answer to a question is in it."""
MAX_HELD = 4
"""Turns that wait while a fulfilment runs; further ones are told to wait and dropped."""


def hear(agent: Agent, state: State, event: Understood) -> Step:
    """Take a turn of the caller."""
    state = _without_talk(agent, state)
    words = words_of(event.text)
    control = control_of(words)
    if state.fulfilling:
        if control is Control.CANCEL or is_refusal(words):
            return state, speech(agent, state, agent.form.too_late)
        held = (*state.held, event) if len(state.held) < MAX_HELD else state.held
        return replace(state, held=held), speech(agent, state, agent.form.wait)
    state = _spoken_by(agent, replace(_older(state), silences=0), event)
    if not words:
        return miss(agent, state)
    if control is None and leaves(words) and (state.form is not None or target_now(agent, state, event) is None):
        control = Control.GOODBYE
    elif control is None and asks_for_human(words) and not _is_sure(agent, state, event):
        control = Control.HUMAN
    if control is not None:
        return steer(agent, state, control, event)
    first, *others = divide(agent, event, state.form)
    return _hear_wish(agent, replace(state, wishes=(*others, *state.wishes)), first)


def _is_sure(agent: Agent, state: State, event: Understood) -> bool:
    """Return whether a turn has an intent for sure."""
    return target_now(agent, state, event) is not None and event.understanding.confidence >= SURE_CONFIDENCE


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
        if form is not None and target_of(agent, wish.understanding, wish.text) == form.intent:
            break
        state, more = _hear_wish(agent, replace(state, wishes=state.wishes[1:]), wish)
        actions = (*(action for action in actions if not isinstance(action, Listen)), *more)
    return state, actions


def _hear_wish(agent: Agent, state: State, event: Understood) -> Step:
    if state.form is None:
        return _idle(agent, state, event)
    return _in_form(agent, state, state.form, event)


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
    if not state.fulfilling or form is None or agent.intents[form.intent].fulfilment not in agent.talking_fulfilments:
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


def _idle(agent: Agent, state: State, event: Understood) -> Step:
    target = target_now(agent, state, event)
    stands_alone = target is not None and _CONTINUING.match(event.text) is None
    followed = continued(agent, state, event, target, stands_alone=stands_alone)
    if followed is not None:
        return understood(followed)
    is_answered = bool(event.answer) and ASKING.match(event.text) and not _is_sure(agent, state, event)
    if target is not None and not is_answered:
        return begin(agent, state, target, event)
    if event.answer:
        return understood((state, (Say(event.answer), listening(agent, state))))
    words = words_of(event.text)
    was_asked = bool(state.said) and state.said[-1].endswith("?")
    if is_done(words) or (was_asked and is_refusal(words)):
        return finish(agent, state, "end")
    if was_asked and assent_of(words) is Assent.YES:
        return understood((state, (*speech(agent, state, agent.form.help), listening(agent, state))))
    fallback = agent.form.fallback
    return miss(agent, state) if fallback is None else begin(agent, state, fallback, event)


def _in_form(agent: Agent, state: State, form: Form, event: Understood) -> Step:
    """Take a turn within an intent: another wish, values, or an answer."""
    reading = read_turn(agent, form, event)
    words = words_of(event.text.replace("%", " percent"))
    is_question = _is_question(form, event, reading)
    if (aside := _aside(agent, state, form, event, reading, is_question=is_question)) is not None:
        return aside
    assent = _assent(agent, state, form, words) if form.confirming or form.changing else None
    if assent is not None and is_whole(words) and not (_is_of_list(agent, form, reading) or reading.denied):
        # "A hundred percent" is a yes, and no percentage.
        return _answered(agent, state, form, event, assent)
    target = target_now(agent, state, event)
    # "The date" after "what shall I change?" is no question for the opening hours.
    names_change = form.changing and bool(slot_named(agent, form, event.text))
    is_weak = reading.changes(form) and event.understanding.confidence < SURE_CONFIDENCE
    if target is not None and target != form.intent and not (reading.is_bare or names_change or is_weak):
        return begin(agent, state, target, event)
    changed = None if is_question else _changed(agent, state, form, event, reading)
    if changed is None and form.confirming and not is_question and assent in {None, Assent.UNCLEAR} and reading.filled:
        # The same again is no yes, but it is understood.
        changed = ask_again(agent, state)
    if changed is not None:
        return changed
    if assent is not None or names_change:
        return _answered(agent, state, form, event, assent or Assent.NO)
    return _answer_or_miss(agent, state, event)


def _is_question(form: Form, event: Understood, reading: TurnReading) -> bool:
    """Return whether a turn asks what documents answer, and proposes nothing."""
    is_asking = bool(event.answer) and not reading.is_bare and ASKING.match(event.text) is not None
    return is_asking and not (form.asked in reading.filled and PROPOSING.match(event.text))


def _aside(
    agent: Agent, state: State, form: Form, event: Understood, reading: TurnReading, *, is_question: bool
) -> Step | None:
    """Answer a question, or wait; None: the turn is about the form."""
    words = words_of(event.text)
    slot = agent.slots_of(form.intent).get(form.asked)
    # Of a text "one moment" would be a part.
    given = reading.filled.keys() - ({form.asked} if slot is not None and slot.type == TEXT else set())
    if begins_to_wait(words) and not (given or reading.denied or reading.choosing):
        return steer(agent, state, Control.WAIT, event)
    if not is_question or is_whole(words) or (form.confirming and reading.filled):
        return None
    is_own = target_now(agent, state, event) == form.intent
    return _answer_or_miss(agent, state, event) if is_own or not _is_sure(agent, state, event) else None


def _changed(agent: Agent, state: State, form: Form, event: Understood, reading: TurnReading) -> Step | None:
    """Take values that a turn gives, denies or leaves open; None without effect."""
    if reading.unclear:
        return ask_what_to_change(agent, state, form) if form.confirming else miss(agent, state)
    if not reading.choosing and not reading.changes(form):
        return None
    if is_for_later(agent, form.intent, event):
        return refuse_later(agent, state)
    return understood(take(agent, state, form, reading, event.today))


def _answered(agent: Agent, state: State, form: Form, event: Understood, assent: Assent) -> Step:
    """Take the answer to the question if all is right, or what is to be changed."""
    if assent is Assent.UNCLEAR:
        return _answer_or_miss(agent, state, event)
    if assent is Assent.YES:
        return understood(fulfil(agent, state) if form.confirming else proceed(agent, state))
    parts = [part for part in _PARTS.split(event.text) if assent_of(words_of(part)) is Assent.NO]
    named = next(filter(None, (slot_named(agent, form, part) for part in (*parts, event.text))), "")
    if named:
        return ask_anew(agent, state, form, named)
    return understood(proceed(agent, state)) if form.changing else ask_what_to_change(agent, state, form)


def _assent(agent: Agent, state: State, form: Form, words: Sequence[Word]) -> Assent | None:
    """Read the reply to a confirmation, as in "yes, a table for three"."""
    texts = [say.text for say in question(agent, state)]
    offered = _OFFER.search(texts[0]) if texts else None
    texts += [text for filled in form.slots.values() for text in (filled.said, filled.value)]
    texts += (name.replace("_", " ") for name in (form.intent, *form.slots))
    repeated = frozenset(word.text for text in texts for word in words_of(text))
    return assent_of(words, repeated, offered[1].lower() if offered else "")


def _is_of_list(agent: Agent, form: Form, reading: TurnReading) -> bool:
    """Return whether a turn names a listed value, such as "super" or "fine"."""
    slots = agent.slots_of(form.intent)
    return any(agent.values_of(name, slots[name]) is not None for name in reading.filled)


def _answer_or_miss(agent: Agent, state: State, event: Understood) -> Step:
    """Answer a question in between and return to the agent's own."""
    if not event.answer:
        return miss(agent, state)
    return understood((state, (Say(event.answer), *question(agent, state), listening(agent, state))))
