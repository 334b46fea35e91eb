"""What becomes of latency below capacity and far beyond it.

``python -m benchmarks.alternatives.overload`` looks for the capacity of the service unless it is told, and loads it
with half of that, with seven tenths, and with three times as much. Below capacity nobody is to be refused, so there
the service lets everybody in; beyond it, it guards its door as it is shipped. With ``--real-time`` the service has
real-time priority, and so have the callers, who stand for callers with machines of their own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.alternatives.measuring import Load
from benchmarks.alternatives.tables import latencies_of, whole_share
from benchmarks.alternatives.variants import UNGUARDED, ours, running
from benchmarks.markdown import table
from benchmarks.provenance import keep
from benchmarks.sla.capacity import find_capacity
from benchmarks.sla.material import DEMONSTRATION, read_items
from service.processes.scheduling import RealTimeRefusedError, run_in_real_time
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.sla.report import Report

HALF, MOST, BEYOND = 0.5, 0.7, 3.0
"""Shares of the capacity that are offered."""
_OVERHEAD_MS = 15.0
_REFUSED_WITHIN_MS = 50.0
_TAIL = 2.0


@click.command()
@click.option("--capacity", type=click.IntRange(2), help="As `vivavoce bench sla` found it.  [default: look for it]")
@click.option("--seconds", type=click.FloatRange(5), default=60, show_default=True, help="How long each load lasts.")
@click.option(
    "--budget-ms", type=click.FloatRange(20, 60_000), default=300, show_default=True, help="For the 95th percentile."
)
@click.option("--real-time", is_flag=True, help="Give service and callers real-time priority.")
@click.option("--json", "json_file", type=FileToWrite(), help="Keep every report here.")
def main(*, capacity: int | None, seconds: float, budget_ms: float, real_time: bool, json_file: Path | None) -> None:
    """Load the service with parts and multiples of its capacity, and print a Markdown table."""
    load = Load(read_items(DEMONSTRATION), seconds, budget_ms)
    if real_time:
        try:
            run_in_real_time()
        except RealTimeRefusedError as error:
            raise click.ClickException(str(error)) from error
    priority = ("--real-time",) if real_time else ()
    services = [ours(*UNGUARDED, *priority), ours(*priority)]
    with tempfile.TemporaryDirectory() as logs, running(services, Path(logs)) as (unguarded, guarded):
        if capacity is None:
            capacity, _ = find_capacity(lambda streams: load.measure(unguarded, streams), budget_ms)
        if not capacity:
            raise click.ClickException(f"not even one conversation keeps {budget_ms:g} ms here: choose --budget-ms")
        offered = {HALF: unguarded, MOST: unguarded, BEYOND: guarded}
        reports = {share: load.measure(service, max(1, round(share * capacity))) for share, service in offered.items()}
    judged = judge(reports, budget_ms)
    click.echo(markdown(capacity, reports, judged), nl=False)
    if json_file is not None:
        command = (
            f"python -m benchmarks.alternatives.overload --capacity {capacity} --seconds {seconds:g} "
            f"--budget-ms {budget_ms:g}{' --real-time' if real_time else ''}"
        )
        keep(json_file, command, {"capacity": capacity, **judged, "reports": list(reports.values())})


def judge(reports: Mapping[float, Report], budget_ms: float) -> dict[str, dict[str, object]]:
    """Compares loads with what is promised of them.

    Args:
        reports: by share of the capacity.
        budget_ms: of the 95th percentile of those who are let in.

    Returns:
        For each promise what was ``measured``, its ``goal``, and whether it is ``kept``; None where nothing was
        measured.
    """
    tail, half, beyond = (latencies_of(reports[share]) for share in (MOST, HALF, BEYOND))
    return {
        "p99 / p50 of replies at 70 % of capacity": _judged(_tail(tail["reply"]), _TAIL),
        "p99 / p50 from the last sound to the reply, likewise": _judged(_tail(tail["turn"]), _TAIL),
        "overhead of replies at half of capacity, p95 ms": _judged(half["overhead"].get("p95"), _OVERHEAD_MS),
        "replies to those let in at 3 times capacity, p95 ms": _judged(beyond["reply"].get("p95"), budget_ms),
        "refusals at 3 times capacity, p95 ms": _judged(beyond["refusal"].get("p95"), _REFUSED_WITHIN_MS),
        "refusals at 3 times capacity, max ms": _judged(beyond["refusal"].get("max"), _REFUSED_WITHIN_MS),
    }


def _tail(latency: Mapping[str, float]) -> float | None:
    return latency["p99"] / latency["p50"] if latency["n"] else None


def _judged(measured: float | None, goal: float) -> dict[str, object]:
    kept = None if measured is None else measured <= goal
    return {"measured": None if measured is None else round(measured, 2), "goal": goal, "kept": kept}


def markdown(capacity: int, reports: Mapping[float, Report], judged: Mapping[str, Mapping[str, object]]) -> str:
    """Writes what was promised and what was measured, and the loads themselves."""
    promises = [
        [name, str(one["measured"]), f"<= {one['goal']}", {True: "yes", False: "no", None: "-"}[one["kept"]]]  # type: ignore[index]
        for name, one in judged.items()
    ]
    loads = [
        [
            f"{share:g} x {capacity}",
            str(report["streams"]),
            " / ".join(str(latencies_of(report)["reply"].get(name, "-")) for name in ("p50", "p95", "p99")),
            f"{100 * whole_share(report):.0f} %",
            str(report["errors"]),
            str(report["lost"]),
            str(report["server_cpu"]),
            str(report["client_cpu"]),
        ]
        for share, report in reports.items()
    ]
    heads = ["offered", "streams", "reply p50 / p95 / p99 ms", "whole", "errors", "lost", "cores", "busiest client"]
    return table(["", "measured", "goal", "kept"], promises) + "\n\n" + table(heads, loads) + "\n"


if __name__ == "__main__":
    main()
