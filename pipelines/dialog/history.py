"""Last turns, for the language models of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.actions import Say
from pipelines.data.dialog.events import Understood
from pipelines.data.dialog.state import Line

if TYPE_CHECKING:
    from pipelines.data.dialog.actions import Action
    from pipelines.data.dialog.events import Event
    from pipelines.data.dialog.state import State
    from pipelines.dialog.agent.agent import Agent


def with_event(agent: Agent, state: State, event: Event) -> State:
    """Add what the caller says, before the agent acts on it."""
    if not agent.shown_turns or not isinstance(event, Understood):
        return state
    return replace(state, lines=(*state.lines, Line(event.text, is_caller=True)), passage=event.passage)


def with_actions(agent: Agent, before: State, state: State, actions: tuple[Action, ...]) -> State:
    """Add what the agent says. Lines of intents with sensitive slots are not kept.

    Args:
        agent: by which the dialog is held.
        before: the state that the agent acted on.
        state: what it has led to.
        actions: what it did.
    """
    if not agent.shown_turns:
        return state
    if _is_sensitive(agent, before) or _is_sensitive(agent, state):
        last = -1 if before.lines and before.lines[-1].is_caller else None
        return replace(state, lines=before.lines[:last], passage="")
    lines = (*before.lines, *(Line(action.text, is_caller=False) for action in actions if isinstance(action, Say)))
    return replace(state, lines=lines[-2 * agent.shown_turns :])


def _is_sensitive(agent: Agent, state: State) -> bool:
    """Tell whether an intent is under way that has sensitive slots."""
    return state.form is not None and any(slot.sensitive for slot in agent.slots_of(state.form.intent).values())
