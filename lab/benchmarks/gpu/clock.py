"""Times work on a device."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def median_seconds(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    """Times one call of ``work``, the median of many, warmed up, by the device's own clock where it has one.

    Args:
        work: queues something on the device's current stream.
        device: where.
        seconds: how long to go on.
    """
    for _ in range(3):
        work()
    _wait(device)
    times: list[float] = []
    began = time.monotonic()
    while time.monotonic() - began < seconds or len(times) < 5:
        times.append(_once(work, device))
    return statistics.median(times)


def _once(work: Callable[[], object], device: torch.device) -> float:
    if device.type != "cuda":
        began = time.perf_counter()
        work()
        return time.perf_counter() - began
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    work()
    last.record()
    last.synchronize()
    return float(first.elapsed_time(last)) / 1000


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
