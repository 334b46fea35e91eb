"""Cut-offs against waiting, for every policy that a system's scores allow.

The measures are those of LiveKit's eot-bench. A policy has three knobs: the threshold that a score must reach, the
silence before which no score counts (delay), and the silence after which the turn ends in any case (timeout). At an end
the system waits until it acts; in a pause it cuts the speaker off if it acts before the speaker goes on. All policies
of a grid are tried, and the best ones are reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Scores = npt.NDArray[np.float64]

ASKED_SECONDS = (0.2, 0.4, 0.7)
"""Silence after which a pause is judged, again and again; the service asks within 16 ms of these."""

_TIMEOUTS = tuple(round(0.05 * step, 2) for step in range(4, 61))
_THRESHOLDS = 64
_NEVER = np.inf


@dataclass(frozen=True, slots=True)
class Point:
    """What one policy does.

    Attributes:
        wait: mean silence after an end until the system acts, seconds.
        cut: share of the pauses in which it cuts the speaker off.
        threshold: of the scores; infinite where none counts.
        delay: seconds before which no score counts.
        timeout: seconds after which the turn ends.
    """

    wait: float
    cut: float
    threshold: float
    delay: float
    timeout: float


def sweep(ends: Scores, holds: Scores, seconds: Scores) -> list[Point]:
    """Tries all policies; returns those that no other one beats in both respects, the shortest wait first.

    Args:
        ends: scores of ends at :data:`ASKED_SECONDS`, ``[ends, times]``.
        holds: scores of pauses within turns, likewise; what lies after a pause is not read.
        seconds: how long each of those pauses lasts, ``[holds]``.
    """
    levels = np.unique(np.quantile(np.concatenate([ends.ravel(), holds.ravel()]), np.linspace(0, 1, _THRESHOLDS)))
    points = silence_points(seconds)
    for threshold in levels:
        for first, delay in enumerate(ASKED_SECONDS):
            at_end, in_pause = (_fires(scores, float(threshold), first) for scores in (ends, holds))
            for timeout in (bound for bound in _TIMEOUTS if bound >= delay):
                wait, cut = float(np.minimum(at_end, timeout).mean()), _cut(in_pause, seconds, timeout)
                points.append(Point(wait, cut, float(threshold), delay, timeout))
    return _best(points)


def silence_points(seconds: Scores) -> list[Point]:
    """What waiting alone does: a policy for each timeout."""
    never = np.full(len(seconds), _NEVER)
    return [Point(t, _cut(never, seconds, t), _NEVER, t, t) for t in _TIMEOUTS]


def cut_within(points: Sequence[Point], wait: float) -> float:
    """Smallest share of pauses that is cut while the mean wait is within a bound, seconds; 1 where none is."""
    return min((point.cut for point in points if point.wait <= wait + 1e-9), default=1.0)


def wait_for(points: Sequence[Point], cut: float) -> float:
    """Shortest mean wait, seconds, at which no more than a share of pauses is cut; infinite where there is none."""
    return min((point.wait for point in points if point.cut <= cut + 1e-9), default=_NEVER)


def _fires(scores: Scores, threshold: float, first: int) -> Scores:
    """Returns when each score reaches the threshold, ``[rows]``; infinite where none does."""
    reached = scores[:, first:] >= threshold
    times = np.array(ASKED_SECONDS[first:])
    return np.where(reached.any(axis=1), times[reached.argmax(axis=1)], _NEVER)


def _cut(fires: Scores, seconds: Scores, timeout: float) -> float:
    return float((np.minimum(fires, timeout) < seconds).mean())


def _best(points: Sequence[Point]) -> list[Point]:
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.wait, point.cut)):
        if not best or point.cut < best[-1].cut:
            best.append(point)
    return best
