"""A machine that exists as arithmetic: how it bears a load with which settings is known, and time is what it says."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from benchmarks.tuning.outcome import Outcome, failed
from benchmarks.tuning.space import Candidate, Move
from pipelines.models.triton import ModelSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

START_SECONDS = 15.0
INTERVAL = Move("asr interval", "asr", ModelSettings(partial_interval_seconds=0.8))
THREADS = Move("asr threads", "asr", ModelSettings(threads=2))
MORE_THREADS = Move("asr threads", "asr", ModelSettings(threads=4))
INSTANCES = Move("qa instances", "qa_bert", ModelSettings(instances=2))
DELAY = Move("qa delay", "qa_bert", ModelSettings(queue_delay_microseconds=1000))
MOVES = (INTERVAL, THREADS, MORE_THREADS, INSTANCES, DELAY)


class FakeMachine:
    """Measures candidates by a formula.

    Args:
        holds: conversations that it holds with the default.
        factors: by how much each move multiplies that.
        noise: how far its latencies scatter, as a share.
        broken: the move with which no service comes up.
        drift: by how much the machine gets slower with every measurement, as a share.
        memory: what a move adds to 1,000 MB, and the bound.
    """

    def __init__(
        self,
        holds: float = 20,
        factors: Mapping[Move, float] | None = None,
        noise: float = 0.0,
        broken: Move | None = None,
        drift: float = 0.0,
        memory: tuple[Mapping[Move, float], float] | None = None,
    ) -> None:
        self.asked: list[tuple[Candidate, int, float]] = []
        self.unseen = 0
        self._holds = holds
        self._factors = factors or {}
        self._noise = noise
        self._broken = broken
        self._drift = drift
        self._added, self._bound = memory or ({}, float("inf"))
        self._rng = random.Random(1)

    def __call__(self, candidate: Candidate, streams: int, seconds: float, *, unseen: bool = False) -> Outcome:
        self.unseen += unseen
        self.asked.append((candidate, streams, seconds))
        took = START_SECONDS + seconds
        if self._broken in candidate.moves:
            return failed("the service did not come up", took)
        capacity = self._holds
        for move in candidate.moves:
            capacity *= self._factors.get(move, 1.0)
        strain = streams / capacity * (1 + self._rng.gauss(0, self._noise)) * (1 + self._drift * len(self.asked))
        missed = max(0.0, min(1.0, (strain - 1) / 2))
        p95 = min(299.0, 250 * strain**2)
        taken = 1_000 + sum(self._added.get(move, 0.0) for move in candidate.moves)
        fits = taken <= self._bound
        return Outcome(strain <= 1, round(missed, 4), p95 / 3, p95, 0.05, 0.7, took, memory_mb=taken, fits=fits)

    @property
    def seconds(self) -> float:
        """How long everything took that it was asked."""
        return sum(START_SECONDS + seconds for _, _, seconds in self.asked)
