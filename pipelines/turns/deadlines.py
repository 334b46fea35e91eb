"""Deadlines of a turn's work, in seconds of the conversation's clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.turns.pausing import SPECULATION_WINDOWS
from pipelines.vad.voice_activity import WINDOW_SECONDS

if TYPE_CHECKING:
    from pipelines.turns.state import State, TurnSettings
    from pipelines.turns.turn import Turn


def speculation_seconds(settings: TurnSettings) -> float:
    """Return the remaining silence once the recognizer was asked for everything."""
    return max(0.0, settings.endpointing.stop_window_seconds - SPECULATION_WINDOWS * WINDOW_SECONDS)


def reply_due(state: State, number: int, now: float) -> float | None:
    """Return a turn's reply deadline; None while its end is unknown."""
    return _due(state.settings, next((turn for turn in state.turns if turn.number == number), None), now)


def stages_due(state: State, number: int, now: float) -> float | None:
    """Return the deadline of work on a turn's text; see :func:`reply_due`."""
    due = reply_due(state, number, now)
    return None if due is None else due + state.settings.late_seconds


def text_due(state: State, segment: int, now: float) -> float | None:
    """Return the deadline of a segment's text; None if unknown or unwanted.

    The recognizer orders texts by it; one that is late is recognized all the same.
    """
    if not state.settings.replies:
        return None
    turn = next((turn for turn in state.turns if any(part.number == segment for part in turn.segments)), None)
    return _due(state.settings, turn, now) if turn else None


def _due(settings: TurnSettings, turn: Turn | None, now: float) -> float | None:
    if turn is not None and turn.awaits_recovery:
        return None
    due = turn.due(settings.budget_seconds) if turn is not None else None
    if due is not None:
        return due
    if not settings.endpointing.enabled:
        return None
    return now + speculation_seconds(settings) + settings.budget_seconds
