"""Tells which kernels some work spends its time in, and for how much of the time there is any."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.gpu.sheet import Sheet

_SHOWN = 12


def profile_kernels(title: str, work: Callable[[], object], sheet: Sheet) -> None:
    """Profiles one call of ``work`` on the current GPU, and adds the kernels that take longest.

    Args:
        title: of the work.
        work: waits for its results.
        sheet: gets a row ``profile`` and rows ``kernel``.
    """
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415 - it takes seconds

    work()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - began
    kernels = [event for event in found.key_averages() if event.self_device_time_total]
    busy = sum(event.self_device_time_total for event in kernels) / 1e6
    sheet.add(what="profile", of=title, milliseconds=round(1000 * seconds, 2), kernels_busy=round(busy / seconds, 3))
    for event in sorted(kernels, key=lambda event: -event.self_device_time_total)[:_SHOWN]:
        sheet.add(
            what="kernel", of=title, name=event.key[:80], calls=event.count,
            milliseconds=round(event.self_device_time_total / 1000, 3),
        )  # fmt: skip
