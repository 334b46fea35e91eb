"""Turns with a lost model: their replies wait, and come whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.messages import Notice, NoticeCode
from pipelines.data.stages import ASR
from pipelines.turns.effects import AbandonSegment, Emit
from pipelines.turns.replying import deadline, unfinished
from pipelines.turns.speculating import find_speculation

if TYPE_CHECKING:
    from pipelines.turns.effects import Effect
    from pipelines.turns.events import RecognitionLost, RecognitionResumed, StageLost, StageResumed
    from pipelines.turns.state import State
    from pipelines.turns.turn import Turn

    Step = tuple[State, tuple[Effect, ...]]


def recognition_lost(state: State, event: RecognitionLost) -> Step:
    """Let the turn wait for the recognizer; known segments are not sent again."""
    found = unfinished(state, event.segment)
    if found is None:
        return state, (AbandonSegment(event.segment),)
    turn, segment = found
    return state.with_turn(turn.with_segment(replace(segment, is_lost=True))), ()


def recognition_resumed(state: State, event: RecognitionResumed) -> Step:
    """Count the time for the reply from now on."""
    found = unfinished(state, event.segment)
    if found is None:
        return state, ()
    turn, segment = found
    return _resume(state, turn.with_segment(replace(segment, is_lost=False)), ASR, event.at)


def stage_lost(state: State, event: StageLost) -> Step:
    """Let the turn wait for the model of a stage."""
    found = find_speculation(state, event.turn, event.speculation)
    if found is None:
        return state, ()
    turn, speculation = found
    return state.with_turn(replace(turn, speculation=replace(speculation, lost=(*speculation.lost, event.stage)))), ()


def stage_resumed(state: State, event: StageResumed) -> Step:
    """Count the time for the reply from now on."""
    found = find_speculation(state, event.turn, event.speculation)
    if found is None:
        return state, ()
    turn, speculation = found
    lost = tuple(stage for stage in speculation.lost if stage != event.stage)
    return _resume(state, replace(turn, speculation=replace(speculation, lost=lost)), event.stage, event.at)


def _resume(state: State, turn: Turn, stage: str, at: float) -> Step:
    """Tell the caller why the reply is late, once a turn, and set its deadline anew."""
    effects: tuple[Effect, ...] = ()
    if turn.recovered_at is None:
        message = f"{stage} was lost and does its work again: nothing is missing, but the reply comes late"
        effects = (Emit(Notice(NoticeCode.MODEL_RECOVERED, message, turn.number, turn.request_id)),)
    turn = replace(turn, recovered_at=at)
    return state.with_turn(turn), effects + deadline(state, turn)
