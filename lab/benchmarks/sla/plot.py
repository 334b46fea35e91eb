"""Latency percentiles against the number of streams, with the budget drawn in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.sla.report import Report


def plot(reports: Sequence[Report], budget_ms: float, path: Path) -> None:
    """Writes a PNG."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only who wants a picture needs it

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    ordered = sorted(
        (report for report in reports if _reply(report)["n"]), key=lambda report: int(str(report["streams"]))
    )
    streams = [int(str(report["streams"])) for report in ordered]
    for name in ("p50", "p90", "p95", "p99"):
        axes.plot(streams, [_reply(report)[name] for report in ordered], marker="o", label=name)
    axes.axhline(budget_ms, color="black", linestyle="--", linewidth=1, label=f"budget, {budget_ms:g} ms")
    axes.set_xlabel("concurrent conversations")
    axes.set_ylabel("reply latency, ms")
    axes.set_yscale("log")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def _reply(report: Report) -> dict[str, float]:
    latency = report["latency_ms"]
    assert isinstance(latency, dict)
    reply: dict[str, float] = latency["reply"]
    return reply
