"""What a run of ``vivavoce bench turns`` found, as JSON, as a table and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.turns.sweep import cut_within, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.turns.sweep import Point

WAITS_SECONDS = (0.3, 0.6)
CUTS = (0.05, 0.10)
SILENCE = "silence rule"


def measures(points: Sequence[Point]) -> dict[str, float | None]:
    """Sums up the best policies of a system: shares in percent, waits in milliseconds, None where there is none."""
    cuts = {f"cut_at_{round(1000 * wait)}_ms": _rounded(100 * cut_within(points, wait)) for wait in WAITS_SECONDS}
    waits = {f"wait_ms_for_{round(100 * cut)}_percent": _rounded(1000 * wait_for(points, cut)) for cut in CUTS}
    return cuts | waits


def curve(points: Sequence[Point]) -> list[dict[str, float]]:
    """The best policies of a system, for a picture."""
    return [{"wait_ms": round(1000 * point.wait, 1), "cut_percent": round(100 * point.cut, 2)} for point in points]


def plot(curves: Mapping[str, Sequence[Mapping[str, float]]], path: Path) -> None:
    """Draws the shares of pauses that are cut against the waits, as PNG."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only who wants a picture needs it

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for name, points in curves.items():
        waits, cuts = [point["wait_ms"] for point in points], [point["cut_percent"] for point in points]
        axes.plot(waits, cuts, label=name, drawstyle="steps-post")
    for share in CUTS:
        axes.axhline(100 * share, color="black", linestyle=":", linewidth=1)
    axes.set_xlabel("mean silence after an end until the system acts, ms")
    axes.set_ylabel("pauses in which the speaker is cut off, %")
    axes.set_xlim(150, 2_000)
    axes.set_ylim(0, 100)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def _rounded(value: float) -> float | None:
    return None if math.isinf(value) else round(value, 1)
