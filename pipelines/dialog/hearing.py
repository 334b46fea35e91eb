"""What a turn of the caller does to a dialog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.dialog.actions import Listen, Say
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.asking import (
    choices_of,
    finish,
    fulfil,
    listening,
    proceed,
    question,
    resume,
    speech,
    spoken_list,
)
from pipelines.dialog.control_words import Control, assent_of, control_of
from pipelines.dialog.keys import answer_by_keys
from pipelines.dialog.missing import miss
from pipelines.dialog.reading import read_turn, slot_named
from pipelines.dialog.state import Filled, Form

if TYPE_CHECKING:
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.asking import Step
    from pipelines.dialog.events import Dtmf, Understood
    from pipelines.dialog.reading import TurnReading
    from pipelines.dialog.state import State

_CONTINUING = re.compile(r"\W*(?:and|or|what about|how about)\b", re.IGNORECASE)
"""How turns begin that go on with the one before, also where the engine finds their intent: "and on Sundays?"."""
MIN_CONFIDENCE = 0.5
"""Least confidence in an intent that begins a form."""
MAX_SUSPENDED = 3
"""Intents that digressions interrupt; the oldest is forgotten."""
MAX_HELD = 4
"""Turns that wait while a fulfilment runs; further ones are told to wait and dropped."""


def hear(agent: Agent, state: State, event: Understood) -> Step:
    """Takes a turn of the caller."""
    state = _without_talk(agent, state)
    if state.fulfilling:
        held = (*state.held, event) if len(state.held) < MAX_HELD else state.held
        return replace(state, held=held), speech(agent, state, agent.form.wait)
    state = replace(_older(state), silences=0)
    words = words_of(event.text)
    if not words:
        return miss(agent, state)
    control = control_of(words)
    assent = assent_of(words)
    if control is not None:
        return _steer(agent, state, control, event)
    if state.form is None:
        return _idle(agent, state, event, assent)
    return _in_form(agent, state, state.form, event, assent)


def press(agent: Agent, state: State, event: Dtmf) -> Step:
    """Takes keys: the answer to a question, 1 for yes and 2 for no, ``*`` to repeat; a ``#`` at the end is dropped."""
    state = _without_talk(agent, state)
    if state.fulfilling:
        return state, speech(agent, state, agent.form.wait)
    state = replace(_older(state), silences=0)
    form, keys = state.form, event.keys.rstrip("#")
    if keys == "*":
        return _repeat(agent, state)
    taken: Step | None = None
    if form is not None and form.confirming:
        taken = fulfil(agent, state) if keys == "1" else _deny(agent, state, form) if keys == "2" else None
    elif form is not None:
        taken = answer_by_keys(agent, state, form, keys)
    return _understood(taken) if taken else miss(agent, state)


def _without_talk(agent: Agent, state: State) -> State:
    """Ends a language model that still talks: the caller has the word, and what comes of it is ignored."""
    form = state.form
    if not state.fulfilling or form is None or agent.intents[form.intent].fulfilment not in agent.talking_fulfilments:
        return state
    return replace(state, fulfilling=0, form=(state.suspended or (None,))[-1], suspended=state.suspended[:-1])


def _older(state: State) -> State:
    """Lets contexts grow older by a turn; those whose time is over are dropped."""
    kept = tuple(
        replace(context, turns=context.turns - 1)
        for context in state.contexts
        if context.turns > 0 and (context.until is None or state.now < context.until)
    )
    return replace(state, contexts=kept)


def _understood(taken: Step) -> Step:
    """Begins to count anew what is not understood."""
    state, actions = taken
    return replace(state, misses=0, unheard=False), actions


def _steer(agent: Agent, state: State, control: Control, event: Understood) -> Step:
    match control:
        case Control.REPEAT:
            return _repeat(agent, state)
        case Control.GOODBYE:
            return _goodbye(agent, state)
        case Control.CANCEL:
            cancelled = speech(agent, state, agent.form.cancelled)
            return _understood(resume(agent, state, cancelled))
        case Control.HELP:
            # "What tours do you have" may be a wish as well.
            started = _target(agent, state, event) if state.form is None else None
            if started is not None:
                return _understood(_start(agent, state, started, event))
            return _understood((state, (*_help(agent, state), *question(agent, state), listening(agent, state))))


def _goodbye(agent: Agent, state: State) -> Step:
    """Ends the dialog; "that's all" in the middle of an intent says that its details are complete."""
    if state.form is None:
        return finish(agent, state, "end")
    return _understood(fulfil(agent, state)) if state.form.confirming else miss(agent, state)


def _repeat(agent: Agent, state: State) -> Step:
    said = tuple(Say(text) for text in state.said) or speech(agent, state, agent.form.help)
    return _understood((state, (*said, listening(agent, state))))


def _help(agent: Agent, state: State) -> tuple[Say, ...]:
    form = state.form
    if form is None:
        return speech(agent, state, agent.form.help)
    intent = agent.intents[form.intent]
    slot = intent.slots.get(form.asked)
    if slot is not None:
        if slot.help:
            return speech(agent, state, slot.help)
        if choices := choices_of(agent, form):
            return (Say(f"You can say {spoken_list(choices)}."),)
    return speech(agent, state, intent.help or agent.form.help)


def _target(agent: Agent, state: State, event: Understood) -> str | None:
    """Returns the intent of a turn that may begin now; None: it has none."""
    heard = event.understanding
    name = agent.intent_named(heard.intent)
    if name is None or heard.confidence < MIN_CONFIDENCE or (heard.negated and heard.kind == "command"):
        return None
    needs = agent.intents[name].needs
    return name if not needs or any(context.name in needs for context in state.contexts) else None


def _start(agent: Agent, state: State, intent: str, event: Understood) -> Step:
    form = Form(intent)
    reading = read_turn(agent, form, event)
    return proceed(agent, replace(state, form=replace(form, slots=dict(reading.filled))))


def _digress(agent: Agent, state: State, intent: str, event: Understood) -> Step:
    assert state.form is not None
    suspended = (*state.suspended, replace(state.form, choices=()))[-MAX_SUSPENDED:]
    return _understood(_start(agent, replace(state, suspended=suspended, form=None), intent, event))


def _idle(agent: Agent, state: State, event: Understood, assent: bool | None) -> Step:
    target = _target(agent, state, event)
    if target is None or _CONTINUING.match(event.text):
        continued = _continued(agent, state, event, target)
        if continued is not None:
            return _understood(continued)
    if target is not None:
        return _understood(_start(agent, state, target, event))
    if event.answer:
        return _understood((state, (Say(event.answer), listening(agent, state))))
    if assent is not None and state.said and state.said[-1].endswith("?"):
        if not assent:
            return finish(agent, state, "end")
        return _understood((state, (*speech(agent, state, agent.form.help), listening(agent, state))))
    fallback = agent.form.fallback
    return miss(agent, state) if fallback is None else _understood(_start(agent, state, fallback, event))


def _continued(agent: Agent, state: State, event: Understood, target: str | None) -> Step | None:
    """Asks an intent again with another value, as in "and on Sundays?"; None: no open context allows that.

    Args:
        agent: by which the dialog is held.
        state: before the turn.
        event: the turn.
        target: the intent that the turn has of itself; None: any that may follow.
    """
    for context in reversed(state.contexts):
        followers = [name for name, intent in agent.intents.items() if context.name in intent.follows]
        for name in sorted(followers, key=lambda follower: follower != context.intent):
            if target not in {None, name}:
                continue
            known = {key: value for key, value in context.slots.items() if key in agent.slots_of(name)}
            form = Form(name, known)
            reading = read_turn(agent, form, event)
            if reading.filled or reading.denied & known.keys():
                form = replace(form, slots=_changed(form, reading))
                return proceed(agent, replace(state, form=form))
    return None


def _in_form(agent: Agent, state: State, form: Form, event: Understood, assent: bool | None) -> Step:
    """Takes a turn while an intent is under way: another wish, values of slots, or the answer to a question."""
    reading = read_turn(agent, form, event)
    target = _target(agent, state, event)
    # "The date" after "what shall I change?" is no question for the opening hours.
    names_change = form.changing and bool(slot_named(agent, form, event.text))
    if target is not None and target != form.intent and not reading.is_bare and not names_change:
        return _digress(agent, state, target, event)
    if reading.changes(form):
        form = replace(form, slots=_changed(form, reading), choices=())
        return _understood(proceed(agent, replace(state, form=form)))
    if reading.choices:
        return _ask_again(agent, replace(state, form=replace(form, choices=reading.choices)))
    if form.confirming and assent is None and reading.filled:
        # The same again is no yes, but it is understood.
        return _ask_again(agent, state)
    if form.confirming or form.changing:
        return _confirming(agent, state, form, event, assent)
    return _answer_or_miss(agent, state, event)


def _confirming(agent: Agent, state: State, form: Form, event: Understood, assent: bool | None) -> Step:
    """Takes the answer to the question if all is right, or what is to be changed."""
    if assent and form.confirming:
        return _understood(fulfil(agent, state))
    named = slot_named(agent, form, event.text)
    if named and (form.changing or assent is False):
        kept = {name: value for name, value in form.slots.items() if name != named}
        return _understood(proceed(agent, replace(state, form=replace(form, slots=kept))))
    if assent is False:
        return _understood(proceed(agent, state)) if form.changing else _deny(agent, state, form)
    return _answer_or_miss(agent, state, event)


def _ask_again(agent: Agent, state: State) -> Step:
    return _understood((state, (*question(agent, state), listening(agent, state))))


def _answer_or_miss(agent: Agent, state: State, event: Understood) -> Step:
    """Answers a question in between and returns to the agent's own."""
    if not event.answer:
        return miss(agent, state)
    return _understood((state, (Say(event.answer), *question(agent, state), listening(agent, state))))


def _changed(form: Form, reading: TurnReading) -> dict[str, Filled]:
    kept = {name: value for name, value in form.slots.items() if name not in reading.denied}
    return {**kept, **reading.filled}


def _deny(agent: Agent, state: State, form: Form) -> Step:
    state = replace(state, form=replace(form, confirming=False, changing=True, asked=""))
    listen = Listen(no_input_seconds=agent.form.no_input.after_seconds)
    return _understood((state, (*question(agent, state), listen)))
