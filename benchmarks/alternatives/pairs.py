"""Whether the service carries so many times as many conversations as with its flags off, load by load.

``python -m benchmarks.alternatives.pairs`` loads the service with its flags off and, right after or right before it,
the service as it is shipped with half as many conversations again. A search for each one's capacity takes half an hour,
in which the speed of a shared machine changes by a quarter and more; here what is compared is a minute apart, and every
pair says by itself whether the advantage is there.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.alternatives.measuring import Load
from benchmarks.alternatives.tables import latencies_of, whole_share
from benchmarks.alternatives.variants import FLAGS_OFF, OURS, all_variants, running
from benchmarks.markdown import table
from benchmarks.provenance import keep
from benchmarks.sla.material import DEMONSTRATION, read_items
from benchmarks.sla.report import within_budget
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.sla.report import Report


@dataclass(frozen=True, slots=True)
class Pair:
    """Two loads, one right after the other.

    Attributes:
        flags_off: of the service with its flags off.
        ours: of the service as shipped, with so many times as many conversations.
    """

    flags_off: Report
    ours: Report


@click.command()
@click.option("--streams", type=click.IntRange(1), multiple=True, default=(40, 48, 56, 64), show_default=True)
@click.option("--times", type=click.FloatRange(1), default=1.5, show_default=True, help="As many for the shipped one.")
@click.option("--rounds", type=click.IntRange(1), default=2, show_default=True)
@click.option("--seconds", type=click.FloatRange(5), default=25, show_default=True, help="How long each load lasts.")
@click.option(
    "--budget-ms", type=click.FloatRange(20, 60_000), default=300, show_default=True, help="For the 95th percentile."
)
@click.option("--json", "json_file", type=FileToWrite(), help="Keep every report here.")
def main(
    *,
    streams: tuple[int, ...],
    times: float,
    rounds: int,
    seconds: float,
    budget_ms: float,
    json_file: Path | None,
) -> None:
    """Load the service with its flags off, and as shipped with more, in turn, and print a Markdown table."""
    load = Load(read_items(DEMONSTRATION), seconds, budget_ms)
    variants = [variant for variant in all_variants() if variant.name in {OURS, FLAGS_OFF}]
    with tempfile.TemporaryDirectory() as logs, running(variants, Path(logs)) as services:
        by_name = {service.name: service for service in services}
        pairs = measure_pairs(streams, times, rounds, lambda name, count: load.measure(by_name[name], count))
    summary = summarize(pairs, budget_ms)
    click.echo(markdown(pairs, times, summary), nl=False)
    if json_file is not None:
        loads = " ".join(f"--streams {count}" for count in streams)
        command = (
            f"python -m benchmarks.alternatives.pairs {loads} --times {times:g} --rounds {rounds} "
            f"--seconds {seconds:g} --budget-ms {budget_ms:g}"
        )
        reports = [{FLAGS_OFF: pair.flags_off, OURS: pair.ours} for pair in pairs]
        keep(json_file, command, {"times": times, **summary, "pairs": reports})


def measure_pairs(
    streams: Sequence[int], times: float, rounds: int, measure: Callable[[str, int], Report]
) -> list[Pair]:
    """Measures all pairs; which of the two comes first changes from one to the next.

    Args:
        streams: of the service with its flags off.
        times: as many for the shipped one.
        rounds: how often all are measured.
        measure: runs a load of so many streams on the service of this name.
    """
    pairs: list[Pair] = []
    for _ in range(rounds):
        for count in streams:
            loads = [(FLAGS_OFF, count), (OURS, round(times * count))]
            in_turn = reversed(loads) if len(pairs) % 2 else loads
            reports = {name: measure(name, load) for name, load in in_turn}
            pairs.append(Pair(reports[FLAGS_OFF], reports[OURS]))
    return pairs


def summarize(pairs: Sequence[Pair], budget_ms: float) -> dict[str, int]:
    """Counts pairs: all, those of which each service carried its part, and those in which the shipped one did better.

    Better is a greater share of whole replies.
    """
    off = [within_budget(pair.flags_off, budget_ms) for pair in pairs]
    ours = [within_budget(pair.ours, budget_ms) for pair in pairs]
    return {
        "pairs_measured": len(pairs),
        "flags_off_carried": sum(off),
        "ours_carried": sum(ours),
        "ours_carried_where_flags_off_did": sum(both for both, less in zip(ours, off, strict=True) if less),
        "ours_better": sum(whole_share(pair.ours) > whole_share(pair.flags_off) for pair in pairs),
    }


def markdown(pairs: Sequence[Pair], times: float, summary: dict[str, int]) -> str:
    """Writes a line for each pair, and what they come to."""
    heads = ["flags off, streams", "p95 ms", "whole", f"ours, {times:g} times as many", "p95 ms", "whole"]
    rows = [[*_cells(pair.flags_off), *_cells(pair.ours)] for pair in pairs]
    return (
        f"{table(heads, rows)}\n\n"
        f"- with flags off {summary['flags_off_carried']} of {len(pairs)} loads were carried, ours carried "
        f"{summary['ours_carried']}, and {summary['ours_carried_where_flags_off_did']} of the former\n"
        f"- ours had the greater share of whole replies in {summary['ours_better']} of {len(pairs)} pairs\n"
    )


def _cells(report: Report) -> list[str]:
    p95 = latencies_of(report)["reply"].get("p95", "-")
    return [str(report["streams"]), str(p95), f"{100 * whole_share(report):.0f} %"]


if __name__ == "__main__":
    main()
