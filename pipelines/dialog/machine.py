"""The dialog as a pure function of what happens to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import Say
from pipelines.data.dialog.state import Filled
from pipelines.dialog import caller_turn, history
from pipelines.dialog.form_checks import refuse, take_check
from pipelines.dialog.next_step import (
    complete,
    finish,
    fulfilment,
    listening,
    missing_slot,
    question,
    resume,
    speech,
)
from pipelines.text.language import speaking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.dialog.state import State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step


def step(agent: Agent, state: State, event: events.Event) -> Step:
    """Return a dialog's next state after ``event``, and the actions in order.

    The last action waits for the caller, asks for a fulfilment or ends the dialog. While a fulfilment runs, turns are
    held until its result is there. A dialog that has ended ignores every event. Nothing is done twice: a fulfilment
    has a number, and only the result of the one that runs is taken.
    """
    if state.ended:
        return state, ()
    with speaking(agent.form.language):
        return _step(agent, state, event)


def _step(agent: Agent, state: State, event: events.Event) -> Step:
    before = history.with_event(agent, replace(state, now=event.now), event)
    state, actions = caller_turn.take_up_wishes(agent, *_dispatch(agent, before, event))
    state = history.with_actions(agent, before, state, actions)
    said = tuple(action.text for action in actions if isinstance(action, Say))
    return (replace(state, said=said) if said else state), actions


def _dispatch(agent: Agent, state: State, event: events.Event) -> Step:  # noqa: PLR0911 - one line an event
    match event:
        case events.Began():
            return _begin(agent, state, event)
        case events.Resumed():
            return _resumed(agent, state)
        case events.ParametersSet():
            return replace(state, parameters={**state.parameters, **_declared(agent, event.parameters)}), ()
        case events.Interrupted():
            return replace(state, unheard=True), ()
        case events.Silence():
            return _silence(agent, state)
        case events.Understood():
            return caller_turn.hear(agent, state, event)
        case events.Dtmf():
            return caller_turn.press(agent, state, event)
        case events.Progressed():
            return _progressed(agent, state, event)
        case events.Fulfilled() | events.FulfilmentFailed():
            return _fulfilled(agent, state, event)
        case events.Late():
            return state, speech(agent, state, agent.form.wait)


def _begin(agent: Agent, state: State, event: events.Began) -> Step:
    state = replace(state, parameters={**agent.form.parameters, **_declared(agent, event.parameters)})
    return state, (*speech(agent, state, agent.form.begin or ""), listening(agent, state))


def _declared(agent: Agent, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return an agent's declared parameters: others could reach prompts."""
    return {name: value for name, value in parameters.items() if name in agent.form.parameters}


def _resumed(agent: Agent, state: State) -> Step:
    """Resume an interrupted fulfilment: ask again with its number, or admit it."""
    form = state.form
    if not state.fulfilling or form is None:
        return replace(state, fulfilling=0), ()
    intent = agent.intents[form.intent]
    if form.checking:
        return state, (*speech(agent, state, agent.form.wait), fulfilment(agent, state))
    # Values of sensitive slots may be left out of what is stored.
    if not missing_slot(agent, state, form) and intent.fulfilment in agent.repeatable_fulfilments:
        return state, (*speech(agent, state, agent.form.wait), fulfilment(agent, state))
    failure = speech(agent, state, agent.form.unsure)
    return resume(agent, replace(state, fulfilling=0, form=None), failure)


def _silence(agent: Agent, state: State) -> Step:
    if state.fulfilling:
        return state, ()
    patience = agent.form.no_input
    if state.silences >= patience.times:
        if patience.then != "continue":
            return finish(agent, state, patience.then)
        state = replace(state, silences=patience.times + 1)
        return state, (listening(agent, state),)
    said = patience.say[min(state.silences, len(patience.say) - 1)] if patience.say else ""
    state = replace(state, silences=state.silences + 1)
    return state, (*speech(agent, state, said), *question(agent, state), listening(agent, state))


def _progressed(agent: Agent, state: State, event: events.Progressed) -> Step:
    """Say what there is to say while a fulfilment runs."""
    if not state.fulfilling or event.number != state.fulfilling:
        return state, ()
    return state, (Say(event.say),) if event.say else speech(agent, state, agent.form.wait)


def _fulfilled(agent: Agent, state: State, event: events.Fulfilled | events.FulfilmentFailed) -> Step:
    """Take the running fulfilment's result, and the turns that waited for it."""
    form = state.form
    if not state.fulfilling or event.number != state.fulfilling or form is None:
        return state, ()
    held = state.held
    state = replace(state, fulfilling=0, held=())
    if isinstance(event, events.Fulfilled):
        items = agent.items_of(form.intent)
        listed = {items.name, *items.parts} if items is not None else set()
        known = agent.slots_of(form.intent).keys() - listed
        slots = {name: Filled(value, value) for name, value in event.slots.items() if name in known}
        parameters = {**state.parameters, **_declared(agent, event.parameters)}
        form = replace(form, slots={**form.slots, **slots})
        state = replace(state, form=form, parameters=parameters)
        if form.checking:
            state, actions = take_check(agent, state, form, event)
        else:
            state, actions = complete(agent, state, say=event.say)
    else:
        state, actions = refuse(agent, state, form, event)
    for waiting in held:
        if state.ended or state.fulfilling:
            state = replace(state, held=(*state.held, waiting)) if not state.ended else state
            continue
        state, more = caller_turn.hear(agent, state, waiting)
        actions = (*(action for action in actions if isinstance(action, Say)), *more)
    return state, actions
