"""Times a network against the original, turn by turn, so that whatever else the machine does burdens both alike."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.session import MASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.build.quantize import Feeds
    from modelkit.sessions import Session

BATCHES = (1, 2, 4, 8, 16)
_ROUNDS = 5
_PAUSE_SECONDS = 0.01
"""PyTorch's threads go on spinning for a moment after a run, and would take a core from the next one's network."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of one row at a time: median, 10th and 90th percentile, and the median of the original.

    Attributes:
        speedup: median over the rows of how many times faster than the original the network was.
    """

    p50: float
    p10: float
    p90: float
    original_p50: float
    speedup: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rows a second at the best of :data:`BATCHES`, and likewise of the original."""

    batch: int
    per_second: float
    original_batch: int
    original_per_second: float

    @property
    def speedup(self) -> float:
        """How many times more rows than the original."""
        return self.per_second / self.original_per_second


def measure_latency(network: Session, original: Session, rows: Sequence[Feeds]) -> Latency:
    """Times both on the same rows, alternately, one row at a time; the first rounds warm them up."""
    seconds = np.array([[_time(session, [row]) for session in (network, original)] for row in (rows[0], *rows)])[1:]
    own, other = seconds.T * 1000
    p10, p50, p90 = (round(float(value), 2) for value in np.percentile(own, (10, 50, 90)))
    return Latency(p50, p10, p90, round(float(np.median(other)), 2), round(float(np.median(other / own)), 2))


def measure_throughput(network: Session, original: Session, rows: Sequence[Feeds]) -> Throughput:
    """Times both on batches of rows, alternately; of several rounds the median counts."""
    seconds = {batch: np.array(_alternate(network, original, rows, batch)) for batch in BATCHES}
    rates = {batch: batch / np.median(both, axis=0) for batch, both in seconds.items()}
    own, other = (max(BATCHES, key=lambda batch: rates[batch][which]) for which in (0, 1))
    return Throughput(own, round(float(rates[own][0]), 2), other, round(float(rates[other][1]), 2))


def _alternate(network: Session, original: Session, rows: Sequence[Feeds], batch: int) -> list[list[float]]:
    taken = [rows[place % len(rows)] for place in range(batch)]
    width = max(row[MASK].shape[1] for row in taken)
    stacked = {
        name: np.concatenate([np.pad(row[name], [(0, 0), (0, width - row[name].shape[1])]) for row in taken])
        for name in taken[0]
    }
    return [[_time(session, [stacked]) for session in (network, original)] for _ in range(_ROUNDS)]


def _time(session: Session, requests: Sequence[Feeds]) -> float:
    time.sleep(_PAUSE_SECONDS)
    began = time.perf_counter()
    session.run(requests)
    return time.perf_counter() - began
