"""Another checkout of the project beside this one, load by load: ``python -m benchmarks.alternatives.trees OTHER``.

A change may make the service slower by a few percent, and the speed of a shared machine changes by more within the
hour. So both services run all the time, and the same callers talk to one and then to the other: what is compared is a
minute apart.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.alternatives.measuring import Load
from benchmarks.alternatives.tables import latencies_of, whole_share
from benchmarks.alternatives.variants import UNGUARDED, Served
from benchmarks.markdown import table
from benchmarks.provenance import keep
from benchmarks.sla.material import DEMONSTRATION, read_items
from service.processes.child_process import SERVE, StartError, start, stop, wait_for_address
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.sla.report import Report

THIS, OTHER = "this", "other"
_ROOT = Path(__file__).resolve().parents[2]


@click.command()
@click.argument("other", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--streams", type=click.IntRange(1), multiple=True, default=(6, 16, 32), show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--seconds", type=click.FloatRange(5), default=25, show_default=True, help="How long each load lasts.")
@click.option("--json", "json_file", type=FileToWrite(), help="Keep every report here.")
def main(*, other: Path, streams: tuple[int, ...], rounds: int, seconds: float, json_file: Path | None) -> None:
    """Load the service of this checkout and that of OTHER, which has its own .venv, in turn, and print a table."""
    load = Load(read_items(DEMONSTRATION), seconds, budget_ms=300)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as cleanup:
        served = [
            cleanup.enter_context(serving(name, tree, Path(folder)))
            for name, tree in ((THIS, _ROOT), (OTHER, other.resolve()))
        ]
        pairs: list[dict[str, Report]] = []
        for _ in range(rounds):
            for count in streams:
                in_turn = served[::-1] if len(pairs) % 2 else served
                pairs.append({service.name: load.measure(service, count) for service in in_turn})
    click.echo(markdown(pairs), nl=False)
    if json_file is not None:
        loads = " ".join(f"--streams {count}" for count in streams)
        command = f"python -m benchmarks.alternatives.trees OTHER {loads} --rounds {rounds} --seconds {seconds:g}"
        keep(json_file, command, {"pairs": pairs, "ratios": ratios(pairs)})


@contextlib.contextmanager
def serving(name: str, tree: Path, logs: Path) -> Iterator[Served]:
    """Run the service of a checkout, in the environment of that checkout, while the body runs.

    Raises:
        StartError: it does not come up.
    """
    log = logs / f"{name}.log"
    command = [str(tree / ".venv/bin/python"), *SERVE, "--log-level", "WARNING", *UNGUARDED]
    with log.open("wb") as file, contextlib.chdir(tree):
        process = start(command, file)
    try:
        address = wait_for_address(process)
        if address is None:
            raise StartError(f"the service of {tree} did not come up:\n{log.read_text(errors='replace')[-4_000:]}")
        yield Served(name, address, process.pid)
    finally:
        stop(process)


def ratios(pairs: Sequence[dict[str, Report]]) -> dict[str, float]:
    """Return the median over all pairs of this checkout's figure divided by the other's."""

    def median_of(figure: str) -> float:
        return round(
            statistics.median(_figures(pair[THIS])[figure] / _figures(pair[OTHER])[figure] for pair in pairs), 3
        )

    return {figure: median_of(figure) for figure in _figures(pairs[0][THIS])}


def markdown(pairs: Sequence[dict[str, Report]]) -> str:
    """Write a line for each pair, and the median ratios."""
    heads = ["streams", "cores, this", "other", "reply p95 ms, this", "other", "complete, this", "other"]
    rows = []
    for pair in pairs:
        cells = [str(pair[THIS]["streams"])]
        for figure in ("cores", "reply p95"):
            cells += [f"{_figures(pair[name])[figure]:g}" for name in (THIS, OTHER)]
        rows.append([*cells, *(f"{100 * whole_share(pair[name]):.0f} %" for name in (THIS, OTHER))])
    found = ", ".join(f"{figure} {ratio:g}" for figure, ratio in ratios(pairs).items())
    return f"{table(heads, rows)}\n\nthis divided by other, median of {len(pairs)} pairs: {found}\n"


def _figures(report: Report) -> dict[str, float]:
    latencies = latencies_of(report)
    return {
        "cores": float(str(report["server_cpu"])),
        "turn p50": latencies["turn"]["p50"],
        "reply p50": latencies["reply"]["p50"],
        "reply p95": latencies["reply"]["p95"],
        "chunk p50": latencies["chunk"]["p50"],
        "chunk p95": latencies["chunk"]["p95"],
    }


if __name__ == "__main__":
    main()
