"""Turns that are not understood: the agent asks again, and gives up in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.state import Filled
from pipelines.dialog.next_step import finish, listening, proceed, question, resume, speech

if TYPE_CHECKING:
    from pipelines.data.dialog.state import Form, State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.next_step import Step


def miss(agent: Agent, state: State) -> Step:
    """Count a turn that was not understood, and ask again until the agent gives up.

    A turn that interrupted the question does not count: the caller may not have heard it.
    """
    if state.unheard:
        return replace(state, unheard=False), (*question(agent, state), listening(agent, state))
    form = state.form
    if form is not None and form.asked:
        return _miss_slot(agent, state, form)
    if state.misses >= agent.form.no_match.times:
        return _give_up(agent, state)
    return _ask_again(agent, replace(state, misses=state.misses + 1), state.misses)


def _miss_slot(agent: Agent, state: State, form: Form) -> Step:
    slot = agent.slots_of(form.intent)[form.asked]
    tries = form.tries.get(form.asked, 0)
    if tries < slot.retries:
        form = replace(form, tries={**form.tries, form.asked: tries + 1})
        return _ask_again(agent, replace(state, form=form), tries)
    if slot.default is None:
        return _give_up(agent, state)
    slots = {**form.slots, form.asked: Filled(slot.default, slot.default)}
    return proceed(agent, replace(state, form=replace(form, slots=slots, choices=())))


def _ask_again(agent: Agent, state: State, before: int) -> Step:
    """Say in other words that nothing was understood, and repeat the question."""
    texts = agent.form.no_match.say
    said = speech(agent, state, texts[min(before, len(texts) - 1)]) if texts else ()
    return state, (*said, *question(agent, state), listening(agent, state))


def _give_up(agent: Agent, state: State) -> Step:
    state = replace(state, misses=0)
    then = agent.form.no_match.then
    if then != "continue":
        return finish(agent, state, then)
    if state.form is None:
        return state, (*speech(agent, state, agent.form.help), listening(agent, state))
    return resume(agent, state, speech(agent, state, agent.form.cancelled))
