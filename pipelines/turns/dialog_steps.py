"""Dialog inside the turns: committed steps, fulfilments, an agent's own words.

A step that a stage worked out is a preview. It counts once the reply that it belongs to is the next one to be told:
``CommitDialog`` asks for that, and what ``DialogCommitted`` brings back is told.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.turn import Cause
from pipelines.data.messages import Reply
from pipelines.data.stages import DIALOG
from pipelines.turns import replying
from pipelines.turns.effects import CancelFulfilment, StartFulfilment
from pipelines.turns.speculating import dialog_changed

if TYPE_CHECKING:
    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.data.messages import Message
    from pipelines.turns.effects import Effect
    from pipelines.turns.events import DialogCommitted, FulfilmentEnded, Prompted
    from pipelines.turns.state import State

    Step = tuple[State, tuple[Effect, ...]]


def committed(state: State, event: DialogCommitted) -> Step:
    """Let the reply of a turn be told, with the step as it counts."""
    state, effects = _carry_out(state, event.step)
    turn = next((held for held in state.ending if held.number == event.turn), None)
    if turn is None:
        return state, effects
    told = {id(message): _as_committed(message, event.step) for message in turn.untold}
    turn = replace(
        turn,
        committed=event.step,
        partial=told.get(id(turn.partial), turn.partial),
        untold=tuple(told.values()),
    )
    return state.with_ending(turn), effects


def prompted(state: State, event: Prompted) -> Step:
    """Do what an agent does by itself; its words are a reply of their own."""
    state, effects = _carry_out(state, event.step)
    if event.outputs:
        state, more = replying.prompted(state, event)
        effects += more
    if event.step.after is not event.step.before:
        state, more = dialog_changed(state)
        effects += more
    return state, effects


def ended(state: State, event: FulfilmentEnded) -> Step:
    """Wait for a fulfilment no longer."""
    return replace(state, fulfilling=tuple(number for number in state.fulfilling if number != event.number)), ()


def _carry_out(state: State, step: DialogTurn) -> Step:
    """Begin the fulfilments of a step; end the one that the caller has called off."""
    effects: tuple[Effect, ...] = ()
    under_way = step.before.fulfilling
    if step.cause is not Cause.FULFILMENT and under_way not in {0, step.after.fulfilling}:
        effects = (CancelFulfilment(under_way),)
    begun = tuple(task.number for task in step.begun)
    effects += tuple(StartFulfilment(task) for task in step.begun)
    return replace(state, fulfilling=(*state.fulfilling, *begun)), effects


def _as_committed(message: Message, step: DialogTurn) -> Message:
    if not isinstance(message, Reply) or message.dialog is None or message.dialog is step:
        return message
    return dataclasses.replace(message, results={**message.results, DIALOG: step})
