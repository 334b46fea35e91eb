"""Processor: known capacity of its kind, and whether it is quiet."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

_SPEAKERS_PER_CORE = {"avx2": 4.0}
"""Speakers per core by instruction set, when nothing but throughput counts: a third of what was measured on quiet
machines of that kind, so that slower ones carry it too."""
_OTHER_SPEAKERS_PER_CORE = 1.0

QUIET_SECONDS = 0.25
"""For how long it is looked whether others compute."""
QUIET_SHARE = 0.2
"""Share of the processor that others may use on a quiet machine."""

_CPU_INFO, _STAT, _CPU_MAX = Path("/proc/cpuinfo"), Path("/proc/stat"), Path("/sys/fs/cgroup/cpu.max")


def known_speakers() -> float:
    """Return the speakers that a processor of this kind is known to carry."""
    flags = next((line for line in _lines(_CPU_INFO) if line.startswith("flags")), "").split()
    each = max((speakers for flag, speakers in _SPEAKERS_PER_CORE.items() if flag in flags), default=0.0)
    return usable_cores() * (each or _OTHER_SPEAKERS_PER_CORE)


def usable_cores() -> float:
    """Return how many cores this process may use, with what a container leaves it."""
    cores = float(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else float(os.cpu_count() or 1)
    quota, _, period = next(iter(_lines(_CPU_MAX)), "max").partition(" ")
    return min(cores, int(quota) / int(period)) if quota.isdecimal() and period.isdecimal() else cores


async def is_quiet() -> bool:
    """Return whether the machine is quiet; True where that is not known."""
    before = _times()
    await asyncio.sleep(QUIET_SECONDS)
    after = _times()
    total = after[0] - before[0]
    return total <= 0 or (after[1] - before[1]) / total >= 1 - QUIET_SHARE


def _times() -> tuple[int, int]:
    """Return the cores' total time since boot, and their idle time."""
    fields = next((line for line in _lines(_STAT) if line.startswith("cpu ")), "").split()[1:]
    times = [int(field) for field in fields[:8]]
    return (sum(times), times[3] + times[4]) if len(times) == 8 else (0, 0)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
