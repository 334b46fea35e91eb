"""Requests to the dialog itself: repeat, cancel, wait, help, a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.actions import Say
from pipelines.data.dialog.state import Form
from pipelines.dialog.agent.form import ITEMS
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.control_words import Assent, Control, assent_of
from pipelines.dialog.intent_start import ask_again, begin, target_now, understood
from pipelines.dialog.next_step import (
    ask_anew,
    ask_what_to_change,
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
from pipelines.dialog.no_match import miss
from pipelines.text.language import worded

if TYPE_CHECKING:
    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step


def steer(  # noqa: PLR0911, PLR0912 - one a control
    agent: Agent, state: State, control: Control, event: Understood
) -> Step:
    """Do what a turn asks of the dialog.

    Args:
        agent: by which the dialog is held.
        state: before the turn.
        control: that the turn asks for.
        event: the turn.
    """
    # "What tours do you have" and "I have to cancel" may be wishes as well; an agent may have an intent for greetings.
    target = target_now(agent, state, event) if state.form is None else None
    if state.form is None and control in {Control.GREETING, Control.THANKS}:
        target = target or agent.form.fallback
    match control:
        case Control.REPEAT:
            return repeat(agent, state)
        case Control.CANCEL | Control.HELP | Control.GREETING | Control.THANKS if target is not None:
            return begin(agent, state, target, event)
        case Control.RESTART:
            restarted = replace(state, form=Form(state.form.intent)) if state.form is not None else state
            return understood(proceed(agent, restarted))
        case Control.ROBOT:
            said = speech(agent, state, agent.form.robot)
            return understood((state, (*said, *question(agent, state), listening(agent, state))))
        case Control.SUMMARY:
            return _sum_up(agent, state)
        case Control.BACK:
            return _go_back(agent, state)
        case Control.GREETING | Control.THANKS:
            return _courtesy(agent, state, control)
        case Control.GOODBYE:
            return finish(agent, state, "end")
        case Control.HUMAN:
            handing = next((name for name, intent in agent.intents.items() if intent.then == "hand_over"), None)
            return begin(agent, state, handing, event) if handing else finish(agent, state, "hand_over")
        case Control.DONE:
            return _done(agent, state, event)
        case Control.WAIT:
            return understood((state, (*speech(agent, state, agent.form.hold), listening(agent, state))))
        case Control.CANCEL:
            is_done = state.form is None and state.has_acted
            text = agent.form.too_late if is_done else agent.form.cancelled
            return understood(resume(agent, replace(state, wishes=()), speech(agent, state, text)))
        case Control.HELP:
            return understood((state, (*_help(agent, state), *question(agent, state), listening(agent, state))))


def _courtesy(agent: Agent, state: State, control: Control) -> Step:
    """Answer a greeting with the first words, thanks with the open question."""
    greeting = agent.form.begin or agent.form.help if control is Control.GREETING and state.form is None else ""
    said = speech(agent, state, greeting)
    return understood((state, (*said, *question(agent, state), listening(agent, state))))


def _sum_up(agent: Agent, state: State) -> Step:
    """Tell what is known of the intent under way, and ask on."""
    form = state.form
    if form is None or not form.slots:
        return repeat(agent, state)
    slots, items = agent.slots_of(form.intent), agent.items_of(form.intent)
    parts = items.parts if items is not None else {}
    told = [
        filled.said
        for name, filled in form.slots.items()
        if not (slots[name].sensitive or name in parts) and filled.value != slots[name].default
    ]
    said = (Say(worded("so_far", "So far I have: {told}.", told=", ".join(told))),) if told else ()
    return understood((state, (*said, *question(agent, state), listening(agent, state))))


def _go_back(agent: Agent, state: State) -> Step:
    """Ask anew for what was told last; "go back" to a confirmation is a no."""
    form = state.form
    if form is None:
        return repeat(agent, state)
    if form.confirming or form.changing:
        return ask_what_to_change(agent, state, form)
    slots = agent.slots_of(form.intent)
    asked = [name for name, slot in slots.items() if slot.required and name in form.slots and slot.type != ITEMS]
    return ask_anew(agent, state, form, asked[-1]) if asked else ask_again(agent, state)


def _done(agent: Agent, state: State, event: Understood) -> Step:
    """Take "that's all" and "nothing else"; the first may confirm an intent."""
    form = state.form
    if form is None:
        return finish(agent, state, "end")
    if form.items and not form.is_listed:
        return understood(proceed(agent, replace(state, form=replace(form, is_listed=True))))
    if form.changing:
        return understood(proceed(agent, state))
    if form.confirming and assent_of(words_of(event.text)) is Assent.YES:
        return understood(fulfil(agent, state))
    if form.asked and state.has_acted:
        # What was wanted is done.
        return finish(agent, state, "end")
    return miss(agent, state)


def repeat(agent: Agent, state: State) -> Step:
    """Say the last words again."""
    said = tuple(Say(text) for text in state.said) or speech(agent, state, agent.form.help)
    return understood((state, (*said, listening(agent, state))))


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
            return (Say(worded("choices", "You can say {choices}.", choices=spoken_list(choices))),)
    return speech(agent, state, intent.help or agent.form.help)
