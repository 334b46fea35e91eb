"""The table of accelerators, for a page."""

from __future__ import annotations

import statistics
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    Row = dict[str, Any]


def markdown(rows: Sequence[Row]) -> str:
    """Writes a table for each network: milliseconds by rows and length, quality, and speed beside what is shipped."""
    return "\n\n".join(_one(name, list(own)) for name, own in groupby(rows, lambda row: str(row["model"])))


def speed(row: Row, shipped: Row) -> tuple[float, float]:
    """Returns how many times as fast as what is shipped it is: the geometric mean over all batches, and at best."""
    ratios = [shipped["ms"][case] / ms for case, ms in row["ms"].items()]
    return statistics.geometric_mean(ratios), max(ratios)


def _one(name: str, rows: Sequence[Row]) -> str:
    cases, measures = list(rows[0]["ms"]), [key for key in rows[0] if key not in ("model", "by", "ms")]
    heads = [f"`{name}`", *cases, "speed", "at best", *(measure.replace("_", " ") for measure in measures)]
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)]]
    for row in rows:
        quality = [f"{row[measure]:.3f}" if measure in row else "-" for measure in measures]
        lines.append(
            [
                row["by"],
                *(f"{row['ms'][case]:.1f}" for case in cases),
                *(f"{one:.2f}" for one in speed(row, rows[0])),
                *quality,
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
