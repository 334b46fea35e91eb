"""Runs the callers of a load in several processes, so that a slow generator is never taken for a slow server."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from benchmarks.processes import in_processes, meet, meeting
from benchmarks.sla.caller import Caller, Record

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from threading import Barrier

    from benchmarks.sla.scripts import Script

_Script = TypeVar("_Script")
_Record = TypeVar("_Record")

_STREAMS_PER_PROCESS = 12
UNGUARDED = ("--max-conversations", "512")
"""Options of `serve` that let everybody in, where the machine is measured and not the admission of callers."""


@dataclass(frozen=True, slots=True)
class LoadResult(Generic[_Record]):
    """What all callers saw.

    Attributes:
        records: one a caller, in the order of the scripts.
        seconds: how long the load lasted, from the first caller on.
        client_cpu: the busiest process's share of one core, 0 to 1.
    """

    records: list[_Record]
    seconds: float
    client_cpu: float


def run_load(address: str, scripts: Sequence[Script], reply_budget_seconds: float | None = None) -> LoadResult[Record]:
    """Lets all callers speak their scripts at the same time, and waits for the last of them.

    Args:
        address: the service's ``host:port``.
        scripts: one a caller.
        reply_budget_seconds: within which replies are wanted; None leaves it to the server.
    """
    return run_callers(address, scripts, partial(_prepare, reply_budget_seconds=reply_budget_seconds))


def run_callers(
    address: str, scripts: Sequence[_Script], prepare: Callable[[str, _Script], Callable[[], Awaitable[_Record]]]
) -> LoadResult[_Record]:
    """Lets callers of any kind do what their scripts say at the same time, and waits for the last of them.

    Args:
        address: the service's ``host:port``.
        scripts: one a caller.
        prepare: makes of a script what its caller does, before the first of all begins; a function of a module, so
            that other processes find it.
    """
    processes = processes_for(len(scripts))
    shares = [list(scripts[first::processes]) for first in range(processes)]
    with meeting(processes) as ready:
        parts = in_processes(_run_share, [(address, share, prepare, ready) for share in shares])
    records = [parts[number % processes][0][number // processes] for number in range(len(scripts))]
    return LoadResult(records, max(seconds for _, seconds, _ in parts), max(cpu for _, _, cpu in parts))


def processes_for(callers: int) -> int:
    """Tells in how many processes so many callers run."""
    return max(1, min(os.cpu_count() or 1, -(-callers // _STREAMS_PER_PROCESS)))


def _prepare(address: str, script: Script, reply_budget_seconds: float | None) -> Callable[[], Awaitable[Record]]:
    return Caller(address, script, reply_budget_seconds).call


def _run_share(
    address: str,
    scripts: Sequence[_Script],
    prepare: Callable[[str, _Script], Callable[[], Awaitable[_Record]]],
    ready: Barrier,
) -> tuple[list[_Record], float, float]:
    """One process's callers; returns their records, how long they took, and the process's share of a core."""
    # To mix a caller's audio takes some 25 ms for 100 s of it: on the event loop, those who arrive meanwhile would
    # connect all at once.
    calls = [prepare(address, script) for script in scripts]

    async def all_of_them() -> list[_Record]:
        return list(await asyncio.gather(*(call() for call in calls)))

    # Those of a process that came later than others would begin all at once.
    meet(ready)
    cpu, wall = time.process_time(), time.monotonic()
    records = asyncio.run(all_of_them())
    seconds = time.monotonic() - wall
    return records, seconds, (time.process_time() - cpu) / seconds
