"""Studies the settings of the BERT models: ``python -m benchmarks.triton.study [--minutes M] [--json FILE]``.

Starts a Triton with every variant side by side, measures them in rounds, and prints Markdown tables.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from benchmarks.provenance import keep
from benchmarks.triton.study.measuring import Study
from benchmarks.triton.study.points import tables
from benchmarks.triton.study.serving import serving_variants
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.triton.study.points import Point


async def _study(minutes: float) -> list[Point]:
    async with serving_variants() as client:
        return await Study(client).run(60 * minutes, lambda line: print(line, file=sys.stderr))


@click.command()
@click.option("--minutes", type=float, default=10, show_default=True, help="For whole rounds, at least one.")
@click.option("--json", "json_file", type=FileToWrite(), help="Write all points here.")
def main(minutes: float, json_file: Path | None) -> None:
    """Study the settings of the BERT models, and print Markdown tables."""
    points = asyncio.run(_study(minutes))
    click.echo(tables(points))
    if json_file is not None:
        command = f"python -m benchmarks.triton.study --minutes {minutes:g}"
        keep(json_file, command, {"points": [asdict(point) for point in points]})


if __name__ == "__main__":
    main()
