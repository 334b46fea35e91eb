"""Reaction to a lost recognizer, and to its recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.turns import events

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.turns.observer import ObservedConversation


def recognition_recovers(
    dispatch: Callable[[events.Event], None],
    observed: ObservedConversation,
    clock: Callable[[], float],
    segment: int,
    replayed_seconds: float | None,
) -> None:
    """Tell the turn, and the observer.

    Args:
        dispatch: takes the event.
        observed: is told how much was played again.
        clock: the conversation's, in seconds.
        segment: what was under recognition.
        replayed_seconds: audio that another recognizer has heard; None: the recognizer was lost.
    """
    if replayed_seconds is None:
        dispatch(events.RecognitionLost(segment))
        return
    observed.replayed(replayed_seconds)
    dispatch(events.RecognitionResumed(segment, clock()))
