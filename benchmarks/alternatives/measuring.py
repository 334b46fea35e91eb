"""One load on one service, with the CPU time that the service took for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from benchmarks.sla.caller import Caller
from benchmarks.sla.load import run_callers
from benchmarks.sla.report import Report, make_report
from benchmarks.sla.scripts import Mix, write_scripts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.alternatives.variants import Served
    from benchmarks.sla.caller import Record
    from benchmarks.sla.material import Item
    from benchmarks.sla.scripts import Script

_PATIENCE_SECONDS = 20.0
_SEED = 1


@dataclass(frozen=True, slots=True)
class Load:
    """What every service is given.

    Attributes:
        items: what is said.
        seconds: how long callers stay.
    """

    items: Sequence[Item]
    seconds: float

    def measure(self, service: Served, streams: int) -> Report:
        """Lets so many callers talk to a service; the same ones at each time.

        Returns:
            What :func:`benchmarks.sla.report.make_report` says, and ``server_cpu``: cores that the service's processes
            were busy with.
        """
        scripts = write_scripts(self.items, streams, self.seconds, Mix(), _SEED)
        before, began = _cpu_seconds(service.pid), time.monotonic()
        result = run_callers(service.address, scripts, _call if service.keeps_budget else _call_patiently)
        cores = (_cpu_seconds(service.pid) - before) / (time.monotonic() - began)
        return {**make_report(result), "server_cpu": round(cores, 2)}


async def _call(address: str, script: Script) -> Record:
    return await Caller(address, script).call()


async def _call_patiently(address: str, script: Script) -> Record:
    return await Caller(address, script, _PATIENCE_SECONDS).call()


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and of all that descend from it."""
    process = psutil.Process(pid)
    return sum(sum(member.cpu_times()[:2]) for member in (process, *process.children(recursive=True)))
