"""Studies the settings of the BERT models: ``python -m benchmarks.triton.study [--minutes M] [--json FILE]``.

Starts a Triton with every variant side by side, measures them in rounds, and prints Markdown tables.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.provenance import keep
from benchmarks.triton.study.measuring import Study
from benchmarks.triton.study.points import tables
from benchmarks.triton.study.serving import serving_variants

if TYPE_CHECKING:
    from benchmarks.triton.study.points import Point


async def _study(minutes: float) -> list[Point]:
    async with serving_variants() as client:
        return await Study(client).run(60 * minutes, lambda line: print(line, file=sys.stderr))


def main() -> None:
    """Runs the study as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.triton.study", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="whole rounds that fit into it, at least one")
    parser.add_argument("--json", type=Path, help="write all points here")
    options = parser.parse_args()
    points = asyncio.run(_study(options.minutes))
    if options.json:
        command = f"python -m benchmarks.triton.study --minutes {options.minutes:g}"
        keep(options.json, command, {"points": [asdict(point) for point in points]})
    print(tables(points))


if __name__ == "__main__":
    main()
