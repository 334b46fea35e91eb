"""Pictures of a search: latency against conversations, and memory against latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.tuning.space import DEFAULT

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.tuning.search import Found


def plot(found: Found, budget_ms: float, memory_mb: float | None, path: Path) -> None:
    """Writes a PNG."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only who wants a picture needs it
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    points = [point for point in found.points if not point.outcome.complaint]
    groups = {
        "other settings": [point for point in points if point.candidate not in (DEFAULT, found.best)],
        "as shipped": [point for point in points if point.candidate == DEFAULT],
        "the best": [point for point in points if point.candidate == found.best != DEFAULT],
    }
    for (label, group), marker in zip(groups.items(), ("x", "o", "s"), strict=True):
        if not group:
            continue
        latency = [point.outcome.p95_ms for point in group]
        left.scatter([point.streams for point in group], latency, marker=marker, label=label)
        same = [point for point in group if point.streams == found.streams]
        memory = [point.outcome.memory_mb for point in same]
        right.scatter([point.outcome.p95_ms for point in same], memory, marker=marker, label=label)
    left.axhline(budget_ms, color="black", linestyle="--", linewidth=1, label=f"bound, {budget_ms:g} ms")
    left.set(xlabel="concurrent conversations", ylabel="reply latency at 95 %, ms", yscale="log")
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.axvline(budget_ms, color="black", linestyle="--", linewidth=1)
    if memory_mb is not None:
        right.axhline(memory_mb, color="black", linestyle=":", linewidth=1, label=f"bound, {memory_mb:g} MB")
    right.set(xlabel=f"reply latency at 95 %, ms, with {found.streams} conversations", ylabel="memory, MB")
    for axes in (left, right):
        axes.grid(visible=True, which="both", alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=100)
