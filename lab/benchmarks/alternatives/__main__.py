"""This service beside another one, load by load: ``python -m benchmarks.alternatives flags-off|naive|CHECKOUT``.

The speed of a shared machine changes by a quarter within minutes. So both services run all the time, and the same
callers talk to one and then to the other: what is compared is a minute apart.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psutil

from benchmarks.markdown import table
from benchmarks.provenance import keep
from benchmarks.sla.load import UNGUARDED, run_load
from benchmarks.sla.material import DEMONSTRATION, read_items
from benchmarks.sla.report import Report, make_report
from benchmarks.sla.scripts import Mix, write_scripts
from service.processes.child_process import SERVE, StartError, start, stop, wait_for_address
from vivavoce import ReplyStatus
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.sla.material import Item

FLAGS_OFF_SETTINGS = Path(__file__).with_name("flags_off.toml")
_ROOT = Path(__file__).resolve().parents[3]
_BUDGET_SECONDS = 0.3
_PATIENCE_SECONDS = 20.0
_SEED = 1


@dataclass(frozen=True, slots=True)
class Alternative:
    """A service to compare.

    Attributes:
        name: its column in the table.
        command: program and arguments that start it.
        folder: where it is started.
        budget_seconds: reply budget of its callers; long for a service that leaves nothing out of a late reply.
    """

    name: str
    command: tuple[str, ...]
    folder: Path = _ROOT
    budget_seconds: float = _BUDGET_SECONDS


_SERVE = (*SERVE, "--log-level", "WARNING", *UNGUARDED)
THIS = Alternative("this", (sys.executable, *_SERVE))


def alternative(name: str) -> Alternative:
    """Returns the service that ``flags-off``, ``naive`` or the path of a checkout with its own ``.venv`` names.

    Raises:
        click.BadParameter: it is none of these.
    """
    if name == "flags-off":
        return Alternative(name, (*THIS.command, "--no-speculation", "--settings", str(FLAGS_OFF_SETTINGS)))
    if name == "naive":
        command = (sys.executable, "-m", "benchmarks.alternatives.naive_service")
        return Alternative(name, command, budget_seconds=_PATIENCE_SECONDS)
    python = Path(name).resolve() / ".venv/bin/python"
    if not python.exists():
        raise click.BadParameter(f"{name} is neither flags-off nor naive nor a checkout with a .venv")
    return Alternative("other", (str(python), *_SERVE), Path(name).resolve())


@click.command()
@click.argument("other")
@click.option("--streams", type=click.IntRange(1), multiple=True, default=(6, 16, 32), show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--seconds", type=click.FloatRange(5), default=25, show_default=True, help="How long each load lasts.")
@click.option("--json", "json_file", type=FileToWrite(), help="Keep every report here.")
def main(*, other: str, streams: tuple[int, ...], rounds: int, seconds: float, json_file: Path | None) -> None:
    """Load this service and OTHER in turn, and print a table of both and the median ratios."""
    pair = (THIS, alternative(other))
    items = read_items(DEMONSTRATION)
    pairs: list[tuple[Report, Report]] = []
    with tempfile.TemporaryDirectory() as logs, contextlib.ExitStack() as cleanup:
        running = [cleanup.enter_context(serving(one, Path(logs))) for one in pair]
        for number, count in enumerate(streams * rounds):
            order = (1, 0) if number % 2 else (0, 1)
            reports = {one: measure(items, pair[one], running[one], count, seconds) for one in order}
            pairs.append((reports[0], reports[1]))
    click.echo(markdown(pairs, pair[1].name), nl=False)
    if json_file is not None:
        loads = " ".join(f"--streams {count}" for count in streams)
        command = f"python -m benchmarks.alternatives {pair[1].name} {loads} --rounds {rounds} --seconds {seconds:g}"
        keep(json_file, command, {"pairs": pairs, "ratios": ratios(pairs)})


@contextlib.contextmanager
def serving(service: Alternative, logs: Path) -> Iterator[tuple[str, int]]:
    """Runs a service while the body runs; yields its ``host:port`` and the id of its first process.

    Raises:
        StartError: it does not come up.
    """
    log = logs / f"{service.name}.log"
    with log.open("wb") as file, contextlib.chdir(service.folder):
        process = start(service.command, file)
    try:
        address = wait_for_address(process)
        if address is None:
            raise StartError(f"{service.name} did not come up:\n{log.read_text(errors='replace')[-4_000:]}")
        yield address, process.pid
    finally:
        stop(process)


def measure(
    items: Sequence[Item], service: Alternative, running: tuple[str, int], streams: int, seconds: float
) -> Report:
    """Lets ``streams`` callers talk to a service, the same ones at each time.

    Returns:
        :func:`benchmarks.sla.report.make_report`, and ``server_cpu``: cores that the service's processes kept busy.
    """
    address, pid = running
    before, began = _cpu_seconds(pid), time.monotonic()
    result = run_load(address, write_scripts(items, streams, seconds, Mix(), _SEED), service.budget_seconds)
    cores = (_cpu_seconds(pid) - before) / (time.monotonic() - began)
    return {**make_report(result), "server_cpu": round(cores, 2)}


def ratios(pairs: Sequence[tuple[Report, Report]]) -> dict[str, float]:
    """Returns the medians over all pairs of this service's figures divided by the other's."""
    figures = [(_figures(this), _figures(other)) for this, other in pairs]
    return {
        name: round(statistics.median(this[name] / other[name] for this, other in figures), 3) for name in figures[0][0]
    }


def markdown(pairs: Sequence[tuple[Report, Report]], other: str) -> str:
    """Writes a line for each pair of reports, and the median ratios."""
    heads = ["streams"]
    for figure in ("turn p50 ms", "reply p95 ms", "cores", "whole replies"):
        heads += [f"{figure}, {THIS.name}", other]
    rows = []
    for pair in pairs:
        cells = [str(pair[0]["streams"])]
        for figure in ("turn p50", "reply p95", "cores"):
            cells += [f"{_figures(report)[figure]:g}" for report in pair]
        rows.append([*cells, *(f"{100 * _whole_share(report):.0f} %" for report in pair)])
    found = ", ".join(f"{figure} {ratio:g}" for figure, ratio in ratios(pairs).items())
    return f"{table(heads, rows)}\n\n{THIS.name} divided by {other}, median of {len(pairs)} pairs: {found}\n"


def _figures(report: Report) -> dict[str, float]:
    latency = report["latency_ms"]
    assert isinstance(latency, dict)
    return {
        "turn p50": latency["turn"]["p50"],
        "reply p50": latency["reply"]["p50"],
        "reply p95": latency["reply"]["p95"],
        "chunk p95": latency["chunk"]["p95"],
        "cores": float(str(report["server_cpu"])),
    }


def _whole_share(report: Report) -> float:
    """Returns the share of the replies in which no stage is missing, 0 to 1."""
    statuses, replies = report["statuses"], report["replies"]
    assert isinstance(statuses, dict)
    assert isinstance(replies, int)
    complete: int = statuses.get(ReplyStatus.COMPLETE.value, 0)
    return complete / max(1, replies)


def _cpu_seconds(pid: int) -> float:
    """Returns the CPU time of a process and of its descendants, in seconds."""
    process = psutil.Process(pid)
    return sum(sum(member.cpu_times()[:2]) for member in (process, *process.children(recursive=True)))


if __name__ == "__main__":
    main()
