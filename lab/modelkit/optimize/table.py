"""The table: what every point scores, weighs and takes, and which one is best."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from modelkit.optimize.timing import Latency, Throughput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from modelkit.optimize.points import Point


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured of a point.

    Attributes:
        point: its name.
        what: its title.
        servable: whether it may be chosen.
        scores: shares from 0 to 1.
        megabytes: of its weights, as they lie on disk.
        latency: of one row.
        throughput: of many.
    """

    point: str
    what: str
    servable: bool
    scores: Mapping[str, float]
    megabytes: float
    latency: Latency
    throughput: Throughput

    @classmethod
    def of(
        cls, point: Point, scores: Mapping[str, float], megabytes: float, times: tuple[Latency, Throughput]
    ) -> Result:
        """Puts together what was measured."""
        return cls(point.name, point.what, point.servable, dict(scores), round(megabytes, 1), *times)

    def to_json(self) -> dict[str, object]:
        """Gives the result as JSON holds it."""
        return asdict(self) | {"throughput": asdict(self.throughput) | {"speedup": round(self.throughput.speedup, 2)}}

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Reads what :meth:`to_json` gave."""
        fields = json.loads(text)
        del fields["throughput"]["speedup"]
        return cls(
            **fields | {"latency": Latency(**fields["latency"]), "throughput": Throughput(**fields["throughput"])}
        )


def choose(results: Sequence[Result], criterion: str, original: float, allowed_loss: float) -> Result | None:
    """Finds the fastest servable result, by latency against the original, that loses little.

    Args:
        results: of the points.
        criterion: name of the score that counts.
        original: that score of the original.
        allowed_loss: share of it that may be lost.

    Returns:
        None where nothing qualifies.
    """
    good = [r for r in results if r.servable and r.scores[criterion] >= original * (1 - allowed_loss)]
    return max(good, key=lambda result: result.latency.speedup, default=None)


def markdown(results: Sequence[Result], best: str | None) -> str:
    """Writes the results as a table; times as ``median (10th to 90th percentile)``."""
    if not results:
        return ""
    names = list(results[0].scores)
    head = [
        "point",
        *(name.replace("_", " ") for name in names),
        "MB",
        "latency, ms",
        "times",
        "rows/s (batch)",
        "times",
    ]
    lines = [_row(head), _row(["---"] * len(head))]
    for result in results:
        times, many = result.latency, result.throughput
        title = f"{result.what} (`{result.point}`)"
        lines.append(
            _row(
                [
                    f"**{title}**" if result.point == best else title,
                    *(f"{100 * result.scores[name]:.1f}" for name in names),
                    f"{result.megabytes:.1f}",
                    f"{times.p50:.1f} ({times.p10:.1f} to {times.p90:.1f})",
                    f"{times.speedup:.2f}",
                    f"{many.per_second:.1f} ({many.batch})",
                    f"{many.speedup:.2f}",
                ]
            )
        )
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
