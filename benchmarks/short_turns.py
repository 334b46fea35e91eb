"""How long a thread waits for a core beside programs that use all of them, with usual turns and with short ones.

``python -m benchmarks.short_turns`` does what the service's event loop does, as far as the kernel sees it: works for a
little, waits a little, and so on. Beside it run one or two busy programs for each core, behind it as Triton is. Usual
and short turns alternate, so that whatever else the machine does hits both.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import click
import numpy as np

from benchmarks.markdown import table
from benchmarks.provenance import keep
from service.processes.child_process import start, stop
from service.processes.scheduling import run_ahead, run_as_usual
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from pathlib import Path

_BUSY = (1, 2)
"""Busy programs for each core."""
_BUSY_PROGRAM = "from service.processes.scheduling import run_behind; run_behind()\nwhile True: pass"
_WORK_SECONDS, _WAIT_SECONDS = 0.0006, 0.002
_ROUNDS = 3
_PERCENTILES = (50, 90, 99, 99.9)


@click.command()
@click.option("--times", type=click.IntRange(100), default=2500, show_default=True, help="Waits in a round.")
@click.option("--json", "json_file", type=FileToWrite(), help="Keep what was measured here.")
def main(times: int, json_file: Path | None) -> None:
    """Measure how late a thread that waits for time comes to a core, and print a Markdown table."""
    measured = [
        (busy, turns, {f"p{p:g}": round(1000 * float(np.percentile(late, p)), 2) for p in _PERCENTILES})
        for busy in _BUSY
        for turns, late in _compare(busy, times).items()
    ]
    heads = ["busy programs for each core, turns", *(f"p{p:g} (ms)" for p in _PERCENTILES)]
    rows = [[f"{busy}, {turns}", *(f"{ms:.2f}" for ms in late.values())] for busy, turns, late in measured]
    click.echo(table(heads, rows))
    if json_file is not None:
        waits = [
            {"busy_programs_for_each_core": busy, "turns": turns, "late_ms": late} for busy, turns, late in measured
        ]
        keep(json_file, f"python -m benchmarks.short_turns --times {times}", {"waits": waits})


def _compare(busy: int, times: int) -> dict[str, list[float]]:
    """Gives for ``usual`` and ``short`` turns how many seconds too late each wait was over."""
    late: dict[str, list[float]] = {"usual": [], "short": []}
    with TemporaryFile() as log, ExitStack() as others:
        for _ in range(busy * (os.cpu_count() or 1)):
            others.callback(stop, start([sys.executable, "-c", _BUSY_PROGRAM], log, own_session=True))
        for _ in range(_ROUNDS):
            run_as_usual()
            late["usual"] += _late(times)
            if not run_ahead():
                raise click.ClickException("this system has no short turns to give: run it on Linux 6.12 or newer")
            late["short"] += _late(times)
    return late


def _late(times: int) -> list[float]:
    """Waits and works so many times; returns how many seconds too late each wait was over."""
    late = []
    for _ in range(times):
        due = time.perf_counter() + _WAIT_SECONDS
        time.sleep(_WAIT_SECONDS)
        late.append(time.perf_counter() - due)
        done = time.thread_time() + _WORK_SECONDS
        while time.thread_time() < done:
            pass
    return late


if __name__ == "__main__":
    main()
