"""`vivavoce bench sla`: how late replies are while many people talk at once."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from rich.console import Console
from rich.table import Table

from vivavoce.cli.extras import extra
from vivavoce.cli.options import FileToWrite, address_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.sla.report import Report

_ROWS = ("turn", "voice_to_voice", "interruption", "reply", "completed", "chunk", "first_partial", "server", "refusal")


@click.command()
@address_option
@click.option("--streams", type=click.IntRange(1), multiple=True, help="Conversations at a time; repeat it for a ramp.")
@click.option("--seconds", type=click.FloatRange(5), default=60, show_default=True, help="How long each one lasts.")
@click.option("--find-capacity", is_flag=True, help="Look for the most conversations within the budget.")
@click.option(
    "--budget-ms",
    type=click.FloatRange(20, 60_000),
    default=300,
    show_default=True,
    help="For each reply, and for the 95th percentile of all.",
)
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="What is said: a JSON object a line.  [default: the demonstration's recordings]",
)
@click.option("--listeners", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="Share who never speak.")
@click.option(
    "--questions", type=click.FloatRange(0, 1), default=0.3, show_default=True, help="Share who ask questions."
)
@click.option(
    "--spoken",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Share of those who ask to whom replies are spoken.",
)
@click.option(
    "--interruptions",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="Share of their questions that interrupt the reply before.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same conversations.")
@click.option(
    "--real-time",
    is_flag=True,
    help="Give the callers real-time priority: like those with machines of their own, they never wait for a core.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a load, and nothing else.")
@click.option("--csv", "csv_file", type=FileToWrite(), help="Write a line a load.")
@click.option("--plot", "plot_file", type=FileToWrite(), help="Write latency against streams as PNG.")
def sla(
    *,
    server: str,
    streams: tuple[int, ...],
    seconds: float,
    find_capacity: bool,
    budget_ms: float,
    manifest: Path | None,
    listeners: float,
    questions: float,
    spoken: float,
    interruptions: float,
    seed: int,
    real_time: bool,
    as_json: bool,
    csv_file: Path | None,
    plot_file: Path | None,
) -> None:
    """Hold many live conversations and report how late the replies are.

    Every caller speaks recordings at the pace of speech, whatever the server does. What was measured is written even
    if the command is interrupted.
    """
    with extra("bench", "A load test"):
        from benchmarks.processes import ProcessesError  # noqa: PLC0415 - needs the extra
        from benchmarks.sla import capacity, load, material, plot, report, scripts  # noqa: PLC0415
        from service.processes.scheduling import RealTimeRefusedError, run_in_real_time  # noqa: PLC0415
    try:
        items = material.read_items(manifest or material.DEMONSTRATION)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    mix = scripts.Mix(listeners, questions, spoken, interruptions)
    console = Console(stderr=True)
    reports: list[Report] = []

    def measure(count: int) -> Report:
        said = scripts.write_scripts(items, count, seconds, mix, seed)
        with console.status(f"{count} conversations for {seconds:g} s …"):
            found = report.make_report(load.run_load(server, said, budget_ms / 1_000))
        reports.append(found)
        click.echo(json.dumps(found)) if as_json else _show(found)
        return found

    try:
        if real_time:
            run_in_real_time()
        if find_capacity:
            best, _ = capacity.find_capacity(measure, budget_ms, start=min(streams, default=4))
            click.echo(
                json.dumps({"capacity": best, "budget_ms": budget_ms}) if as_json else f"capacity: {best} conversations"
            )
        else:
            for count in streams or (8,):
                measure(count)
    except (ProcessesError, RealTimeRefusedError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        if csv_file is not None and reports:
            _write_csv(reports, csv_file)
        if plot_file is not None and reports:
            plot.plot(reports, budget_ms, plot_file)
    if not any(found["replies"] for found in reports):
        raise click.ClickException(f"No reply came from {server}: {_errors(reports)}.")


def _errors(reports: Sequence[Report]) -> str:
    errors = sum((Counter(cast("dict[str, int]", found["errors"])) for found in reports), Counter[str]())
    return ", ".join(f"{name} ({count} times)" for name, count in errors.most_common()) or "nobody spoke"


def _show(found: Report) -> None:
    """Prints a load as a table."""
    latency = found["latency_ms"]
    assert isinstance(latency, dict)
    table = Table(title=f"{found['streams']} conversations, {found['seconds']} s", title_justify="left")
    table.add_column("milliseconds")
    names = ("n", "p50", "p90", "p95", "p99", "p99.9", "max")
    for name in names:
        table.add_column(name, justify="right")
    for row in _ROWS:
        if latency[row]["n"]:
            table.add_row(row.replace("_", " "), *(str(latency[row][name]) for name in names))
    console = Console()
    console.print(table)
    rest = {name: value for name, value in found.items() if name not in {"latency_ms", "streams", "seconds"}}
    console.print("  ".join(f"{name.replace('_', ' ')}: {value}" for name, value in rest.items()))


def _write_csv(reports: Sequence[Report], path: Path) -> None:
    """Writes a line a load; nested keys are joined by dots."""
    rows = [dict(_flat(found)) for found in reports]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def _flat(values: Report, prefix: str = "") -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = []
    for name, value in values.items():
        pairs += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
    return pairs
