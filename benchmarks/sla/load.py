"""Runs the callers of a load in several processes, so that a slow generator is never taken for a slow server."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.sla.caller import Caller, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.sla.scripts import Script

STREAMS_PER_PROCESS = 12
_START_SECONDS = 2.0
"""Time for all processes to come up before the load begins."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What all callers saw.

    Attributes:
        records: one a caller, in the order of the scripts.
        seconds: how long the load lasted.
        client_cpu: the busiest process's share of one core, 0 to 1.
    """

    records: list[Record]
    seconds: float
    client_cpu: float


def run_load(address: str, scripts: Sequence[Script]) -> LoadResult:
    """Lets all callers speak their scripts at the same time, and waits for the last of them."""
    processes = max(1, min(os.cpu_count() or 1, -(-len(scripts) // STREAMS_PER_PROCESS)))
    shares = [list(scripts[first::processes]) for first in range(processes)]
    begin = time.time() + _START_SECONDS
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = list(pool.map(_run_share, [address] * processes, shares, [begin] * processes))
    records: list[Record] = [Record()] * len(scripts)
    for first, (share, _) in enumerate(parts):
        records[first::processes] = share
    return LoadResult(records, time.time() - begin, max(cpu for _, cpu in parts))


def _run_share(address: str, scripts: Sequence[Script], begin: float) -> tuple[list[Record], float]:
    """One process's callers; returns their records and the process's share of a core."""

    async def all_of_them() -> list[Record]:
        return list(await asyncio.gather(*(Caller(address, script).call() for script in scripts)))

    time.sleep(max(0.0, begin - time.time()))
    cpu, wall = time.process_time(), time.monotonic()
    records = asyncio.run(all_of_them())
    return records, (time.process_time() - cpu) / (time.monotonic() - wall)
