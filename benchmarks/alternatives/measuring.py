"""One load on one service, with the CPU time that the service took for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from benchmarks.sla.load import run_load
from benchmarks.sla.report import Report, make_report
from benchmarks.sla.scripts import Mix, write_scripts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.alternatives.variants import Served
    from benchmarks.sla.material import Item

_PATIENCE_SECONDS = 20.0
_SEED = 1


@dataclass(frozen=True, slots=True)
class Load:
    """What every service is given.

    Attributes:
        items: what is said.
        seconds: how long callers stay.
        budget_ms: within which replies are wanted of those who keep a budget.
    """

    items: Sequence[Item]
    seconds: float
    budget_ms: float

    def measure(self, service: Served, streams: int) -> Report:
        """Lets so many callers talk to a service; the same ones at each time.

        Returns:
            What :func:`benchmarks.sla.report.make_report` says, and ``server_cpu``: cores that the service's processes
            were busy with.
        """
        scripts = write_scripts(self.items, streams, self.seconds, Mix(), _SEED)
        before, began = _cpu_seconds(service.pid), time.monotonic()
        budget_seconds = self.budget_ms / 1_000 if service.keeps_budget else _PATIENCE_SECONDS
        result = run_load(service.address, scripts, budget_seconds)
        cores = (_cpu_seconds(service.pid) - before) / (time.monotonic() - began)
        return {**make_report(result), "server_cpu": round(cores, 2)}


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and of all that descend from it."""
    process = psutil.Process(pid)
    return sum(sum(member.cpu_times()[:2]) for member in (process, *process.children(recursive=True)))
