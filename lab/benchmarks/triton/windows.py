"""Decides when a load is steady: the same throughput and latency in three windows in a row."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from benchmarks.triton.load import Load, Send
    from benchmarks.triton.requests import Timed
    from benchmarks.triton.statistics import Counters

STEADY_WINDOWS = 3


@dataclass(frozen=True, slots=True)
class Window:
    """The answers that came in a stretch of time."""

    seconds: float
    answers: tuple[Timed, ...]

    @property
    def throughput(self) -> float:
        """Items a second."""
        return sum(answer.items for answer in self.answers) / self.seconds

    @property
    def mean_latency(self) -> float:
        """Seconds; infinite where nothing came."""
        return float(np.mean([answer.total for answer in self.answers])) if self.answers else float("inf")


def is_steady(windows: Sequence[Window], tolerance: float) -> bool:
    """Whether the last three windows agree, each within ``tolerance`` (a share) of their mean."""
    last = windows[-STEADY_WINDOWS:]
    if len(last) < STEADY_WINDOWS or not all(window.answers for window in last):
        return False
    for values in ([w.throughput for w in last], [w.mean_latency for w in last]):
        mean = float(np.mean(values))
        if max(abs(value - mean) for value in values) > tolerance * mean:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Measured:
    """A steady stretch: its answers, whether it became steady at all, and the server's statistics around it."""

    window: Window
    steady: bool
    before: Counters
    after: Counters


async def measure(
    load: Load,
    send: Send,
    statistics: Callable[[], Awaitable[Counters]],
    *,
    window_seconds: float,
    tolerance: float,
    most_windows: int,
) -> Measured:
    """Runs a load until it is steady.

    Args:
        load: what is done.
        send: sends one request.
        statistics: asks the server for its counters.
        window_seconds: length of a window.
        tolerance: how far windows may differ, as a share.
        most_windows: after so many the last three are taken, steady or not.
    """
    answers: list[Timed] = []
    running = asyncio.create_task(load.run(send, answers.append))
    windows: list[Window] = []
    counters = [await statistics()]
    try:
        while len(windows) < most_windows and not is_steady(windows, tolerance):
            first, began = len(answers), time.monotonic()
            await asyncio.wait((running,), timeout=window_seconds)
            if running.done():
                running.result()
            windows.append(Window(time.monotonic() - began, tuple(answers[first:])))
            counters.append(await statistics())
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    last = windows[-STEADY_WINDOWS:]
    joined = Window(sum(w.seconds for w in last), tuple(answer for w in last for answer in w.answers))
    return Measured(joined, is_steady(windows, tolerance), counters[-1 - len(last)], counters[-1])
