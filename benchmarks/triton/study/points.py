"""What was measured, and what follows from it: medians over the rounds, and ratios to the base of the same round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.markdown import table
from benchmarks.triton.study.plan import BASE, DESCRIPTIONS, MIX_RATES, MIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.triton.report import Row


@dataclass(frozen=True, slots=True)
class Point:
    """One variant under one load in one round.

    Attributes:
        round: its number, from 1.
        model: the network, or recognition.
        load: what it was loaded with.
        variant: which of its variants.
        mix: what worked beside it; empty where nothing did.
        throughput: items a second.
        p50_ms: median latency as the caller saw it.
        p95_ms: its 95th percentile.
        server_batch: items that the server computed at a time.
    """

    round: int
    model: str
    load: str
    variant: str
    mix: str = ""
    throughput: float = 0.0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    server_batch: float = 0.0

    def with_row(self, row: Row) -> Point:
        """Returns the point with what was measured."""
        return replace(
            self,
            throughput=row.throughput,
            p50_ms=row.latency_ms["p50"],
            p95_ms=row.latency_ms["p95"],
            server_batch=row.server_batch,
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """A variant under a load: medians over the rounds, and how it compares with the base in the same rounds.

    Attributes:
        throughput: items a second.
        p50_ms: median latency.
        p95_ms: 95th percentile of the latency.
        server_batch: items that the server computed at a time.
        faster: throughput over that of the base.
        sooner: 95th percentile of the base over that of the variant.
        won: rounds in which the variant beat the base; see :func:`beats`.
        rounds: how many there were.
    """

    throughput: float
    p50_ms: float
    p95_ms: float
    server_batch: float
    faster: float
    sooner: float
    won: int
    rounds: int


def summarize(points: Sequence[Point], bases: Sequence[Point]) -> Summary:
    """Sums the rounds of a variant up, beside those of the base. Both are in the order of their rounds."""
    pairs = list(zip(points, bases, strict=True))

    def middle(measured: Callable[[Point], float]) -> float:
        return round(median(measured(point) for point in points), 2)

    return Summary(
        throughput=middle(lambda point: point.throughput),
        p50_ms=middle(lambda point: point.p50_ms),
        p95_ms=middle(lambda point: point.p95_ms),
        server_batch=middle(lambda point: point.server_batch),
        faster=round(median(mine.throughput / base.throughput for mine, base in pairs), 3),
        sooner=round(median(base.p95_ms / mine.p95_ms for mine, base in pairs), 3),
        won=sum(beats(mine, base) for mine, base in pairs),
        rounds=len(pairs),
    )


def beats(mine: Point, base: Point) -> bool:
    """Whether a point beats another: by throughput where callers wait for answers, by latency at a fixed rate."""
    if mine.mix and mine.model in MIX_RATES:
        return mine.p95_ms < base.p95_ms
    return mine.throughput > base.throughput


def tables(points: Sequence[Point]) -> str:
    """Writes what was measured as Markdown, a table a load."""
    alone = [point for point in points if not point.mix]
    parts = []
    for model, load in dict.fromkeys((point.model, point.load) for point in alone):
        chosen = [point for point in alone if (point.model, point.load) == (model, load)]
        rows = {DESCRIPTIONS[name]: [p for p in chosen if p.variant == name] for name in DESCRIPTIONS}
        parts.append(_table(f"`{model}`, {load}", rows, rows[DESCRIPTIONS[BASE]]))
    mixed = [point for point in points if point.mix]
    for model in dict.fromkeys(point.model for point in mixed):
        rows = {str(mix): [p for p in mixed if (p.model, p.mix) == (model, str(mix))] for mix in MIXES}
        parts.append(_table(f"`{model}`, all models at once", rows, rows[str(MIXES[0])]))
    return "\n\n".join(parts)


_HEADS = (
    "settings",
    "items/s",
    "p50, ms",
    "p95, ms",
    "batch",
    "items/s against base",
    "p95 of base against it",
    "won",
)


def _table(title: str, rows: dict[str, list[Point]], bases: Iterable[Point]) -> str:
    base = _by_round(bases)
    lines = []
    for description, points in rows.items():
        found = summarize(_by_round(points), base)
        measured = (found.throughput, found.p50_ms, found.p95_ms, found.server_batch)
        ratios = [f"{found.faster:.2f}", f"{found.sooner:.2f}", f"{found.won} of {found.rounds}"]
        compared = ratios if points != base else [""] * len(ratios)
        lines.append([description, *(f"{value:.1f}" for value in measured), *compared])
    return f"**{title}**\n\n{table(_HEADS, lines)}"


def _by_round(points: Iterable[Point]) -> list[Point]:
    return sorted(points, key=lambda point: point.round)
