"""`vivavoce bench doors`: what the doors of a service have in common, and what each costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from vivavoce.cli.extras import extra
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--recordings", type=click.IntRange(min=1), default=100, show_default=True, help="How many are compared.")
@click.option("--live", type=click.IntRange(min=1), default=24, show_default=True, help="Turns at the pace of speech.")
@click.option("--speakers", type=click.IntRange(min=1), default=16, show_default=True, help="While CPU is measured.")
@click.option("--seconds", type=click.FloatRange(min=1), default=30.0, show_default=True, help="That they speak.")
@click.option("--json", "json_file", type=FileToWrite(), help="Write what was found, with command and machine.")
def doors(*, data: Path, recordings: int, live: int, speakers: int, seconds: float, json_file: Path | None) -> None:
    """Compare the doors of a service that is started: gRPC, realtime, converse, Riva and transcriptions.

    DATA is a folder of recordings, one turn each.
    """
    with extra("bench", "A benchmark"):
        from benchmarks import provenance  # noqa: PLC0415 - needs the extra
        from benchmarks.doors import run  # noqa: PLC0415
    console = Console(stderr=True)
    found = run.measure(data, recordings, live, speakers, seconds, lambda text: console.print(text, style="dim"))
    if json_file is not None:
        command = f"vivavoce bench doors DATA --recordings {recordings} --live {live} --speakers {speakers}"
        provenance.keep(json_file, f"{command} --seconds {seconds:g}", found)
    _show(found)


def _show(found: Mapping[str, Any]) -> None:
    words, latency, cpu = found["words"], found["turn_latency_ms"], found["cpu"]
    table = Table(
        "door",
        f"same words as gRPC, of {words['recordings']}",
        "turn latency, ms",
        "beyond gRPC's, ms",
        "cores",
        "of gRPC's",
    )
    for name, same in words["same_as_grpc"].items():
        turns, cost = latency.get(name, {}), cpu.get(name, {})
        cells = (
            turns.get("median", ""),
            turns.get("median_difference", ""),
            cost.get("service_cores", ""),
            cost.get("of_grpc", ""),
        )
        table.add_row(name, str(same), *map(str, cells))
    Console().print(table)
