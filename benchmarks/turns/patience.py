"""From probability to wait: what each patience does to speakers, and how long it lets them wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.turns.sweep import ASKED_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    Scores = npt.NDArray[np.float64]
    Table = Sequence[tuple[float, float]]

WAITS: Mapping[str, Table] = {
    "eager": ((0.0, 1.0), (0.2, 0.6), (0.5, 0.32), (0.75, 0.224), (1.0, 0.192)),
    "normal": ((0.0, 1.6), (0.2, 1.0), (0.5, 0.5), (0.8, 0.256), (1.0, 0.192)),
    "patient": ((0.0, 3.0), (0.2, 2.0), (0.5, 1.0), (0.8, 0.5), (1.0, 0.32)),
}
"""By patience: silence in seconds that ends a turn which is over with such a probability, even between two points."""


def wait(table: Table, probability: float) -> float:
    """Returns the silence that ends a turn at a probability, seconds."""
    probabilities, seconds = zip(*table, strict=True)
    return float(np.interp(probability, probabilities, seconds))


def waits(table: Table, scores: Scores) -> Scores:
    """Returns after how much silence each pause would end the turn, ``[pauses]``; the newest judgement counts.

    Args:
        table: of a patience.
        scores: at :data:`ASKED_SECONDS`, ``[pauses, times]``.
    """
    return np.array([_wait(table, row) for row in scores])


def _wait(table: Table, row: Scores) -> float:
    found = wait(table, 0.0)
    for at, (asked, probability) in enumerate(zip(ASKED_SECONDS, row, strict=True)):
        if probability < 0:
            break
        found = max(asked, wait(table, float(probability)))
        following = ASKED_SECONDS[at + 1] if at + 1 < len(ASKED_SECONDS) else np.inf
        if found < following:
            break
    return found


def cut_share(table: Table, scores: Scores, seconds: float | Scores) -> float:
    """Returns the share of pauses, of so many seconds each, in which a speaker is cut off; 0 of none."""
    return float((waits(table, scores) < seconds).mean()) if len(scores) else 0.0
