"""What each patience of the service does to speakers, and how long it lets them wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.turns.sweep import ASKED_SECONDS
from pipelines.vad.turn_end import Patience, ending_silence

if TYPE_CHECKING:
    import numpy.typing as npt

    Scores = npt.NDArray[np.float64]


def waits(patience: Patience, scores: Scores) -> Scores:
    """Returns after how much silence each pause would end the turn, ``[pauses]``; the newest judgement counts.

    Args:
        patience: of the service.
        scores: at :data:`ASKED_SECONDS`, ``[pauses, times]``.
    """
    return np.array([_wait(patience, row) for row in scores])


def _wait(patience: Patience, row: Scores) -> float:
    found = ending_silence(0.0, patience)
    for at, (asked, probability) in enumerate(zip(ASKED_SECONDS, row, strict=True)):
        if probability < 0:
            break
        found = max(asked, ending_silence(float(probability), patience))
        following = ASKED_SECONDS[at + 1] if at + 1 < len(ASKED_SECONDS) else np.inf
        if found < following:
            break
    return found


def cut_share(patience: Patience, scores: Scores, seconds: float | Scores) -> float:
    """Returns the share of pauses, of so many seconds each, in which a speaker is cut off; 0 of none."""
    return float((waits(patience, scores) < seconds).mean()) if len(scores) else 0.0
