"""Measures the variants in rounds: in each of them every variant once, in another order."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING

from benchmarks.triton.inputs import declared_inputs
from benchmarks.triton.load import Concurrency, RequestRate
from benchmarks.triton.report import make_row
from benchmarks.triton.requests import ModelClient
from benchmarks.triton.statistics import read_statistics
from benchmarks.triton.study.material import REQUESTS, speech
from benchmarks.triton.study.plan import (
    ASR,
    INTENT,
    LOADS,
    MIX_RATES,
    MIXES,
    NETWORKS,
    QA,
    VARIANTS,
    ClosedLoad,
    Mix,
    served_name,
)
from benchmarks.triton.study.points import Point
from benchmarks.triton.windows import STEADY_WINDOWS, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    import tritonclient.grpc.aio as triton

    from benchmarks.triton.load import Load

POINT_SECONDS = {INTENT: 1.5, QA: 2.0}
MIX_SECONDS = 4.0
_ANY = 1.0
"""Windows may differ as they like: the rounds show what is noise."""


class Study:
    """Measures every variant under every load.

    Args:
        client: a Triton that holds them all.
        seed: of the order within the rounds.
    """

    def __init__(self, client: triton.InferenceServerClient, seed: int = 1) -> None:
        self._client = client
        self._rng = random.Random(seed)
        self._requests = {(n, load): REQUESTS[n](load.batch_size) for n in NETWORKS for load in LOADS}
        self._speech = speech()
        self._senders: dict[str, ModelClient] = {}

    async def run(self, seconds: float, say: Callable[[str], None]) -> list[Point]:
        """Measures whole rounds, at least one, for as long as another one fits into the time."""
        points: list[Point] = []
        began, number = time.monotonic(), 0
        while number == 0 or (time.monotonic() - began) * (number + 1) / number <= seconds:
            number += 1
            points += await self._round(number, say)
        return points

    async def _round(self, number: int, say: Callable[[str], None]) -> list[Point]:
        points = []
        for network in NETWORKS:
            for load in LOADS:
                for variant in self._rng.sample(sorted(VARIANTS), len(VARIANTS)):
                    say(f"round {number}: {network}, {load}, {variant}")
                    points.append(await self._alone(number, network, load, variant))
        for mix in self._rng.sample(MIXES, len(MIXES)):
            say(f"round {number}: all models at once, {mix}")
            points += await self._together(number, mix)
        return points

    async def _alone(self, number: int, network: str, load: ClosedLoad, variant: str) -> Point:
        callers = Concurrency(self._requests[network, load], load.callers)
        return await self._measure(Point(number, network, str(load), variant), callers, POINT_SECONDS[network])

    async def _together(self, number: int, mix: Mix) -> list[Point]:
        one_row = ClosedLoad(1, 1)
        wanted: list[tuple[str, str, Load]] = [
            (network, mix.bert, RequestRate(self._requests[network, one_row], rate))
            for network, rate in MIX_RATES.items()
        ]
        wanted.append((ASR, mix.asr, Concurrency(self._speech, 1, len(self._speech))))
        async with asyncio.TaskGroup() as tasks:
            measuring = [
                tasks.create_task(
                    self._measure(Point(number, model, "all at once", variant, str(mix)), load, MIX_SECONDS)
                )
                for model, variant, load in wanted
            ]
        return [task.result() for task in measuring]

    async def _measure(self, point: Point, load: Load, seconds: float) -> Point:
        name = served_name(point.model, point.variant)
        if name not in self._senders:
            specs = declared_inputs(await self._client.get_model_config(name))
            self._senders[name] = ModelClient(self._client, name, specs)
        while True:
            measured = await measure(
                load,
                self._senders[name].send,
                lambda: read_statistics(self._client, name),
                window_seconds=seconds / STEADY_WINDOWS,
                tolerance=_ANY,
                most_windows=STEADY_WINDOWS,
            )
            if measured.window.answers:
                return point.with_row(make_row(point.load, 0, 1, measured))
            # A machine with other work may take longer for one request than it was given.
            seconds *= 2
