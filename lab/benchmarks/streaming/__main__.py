"""`python -m benchmarks.streaming`: costs of an imported streaming recognizer."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click

from benchmarks.provenance import keep, provenance
from benchmarks.streaming.archives import configuration, weights, write
from benchmarks.streaming.live import measure as measure_live
from benchmarks.streaming.steps import measure as measure_steps


@click.group()
def main() -> None:
    """Costs of a streaming recognizer; random weights cost what trained ones do."""


@main.command()
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--layers", type=int, default=17, show_default=True)
@click.option("--width", type=int, default=512, show_default=True)
def archive(target: Path, layers: int, width: int) -> None:
    """Write a .nemo archive with random weights; `vivavoce import asr` makes an engine of it."""
    config = configuration(layers, width)
    write(target, config, weights(config))


@main.command()
@click.argument("engine", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--rows", default="1,4,8,16", show_default=True, help="Batches to measure.")
@click.option("--streams", type=int, default=100, show_default=True, help="Live streams, every other one speaking.")
@click.option("--seconds", type=float, default=30.0, show_default=True, help="How long they last.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this JSON file too.")
def run(engine: Path, rows: str, streams: int, seconds: float, out: Path | None) -> None:
    """Measure steps and live streams of an engine directory."""
    steps = [measure_steps(engine, int(count)) for count in rows.split(",")]
    live = measure_live(engine, streams, seconds)
    found = {
        "card": json.loads((engine / "card.json").read_text(encoding="utf-8")),
        "steps": [dataclasses.asdict(step) for step in steps],
        "live": dataclasses.asdict(live),
    }
    command = f"python -m benchmarks.streaming run ENGINE --rows {rows} --streams {streams} --seconds {seconds:g}"
    click.echo(keep(out, command, found) if out else json.dumps(provenance(command) | found, indent=1))


if __name__ == "__main__":
    main()
