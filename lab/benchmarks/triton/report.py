"""One line a load: throughput, latency, and where the time went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.triton.statistics import PARTS, latency_parts, mean_batch, step_parts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.triton.windows import Measured

PERCENTILES = (50, 90, 95, 99)
_STYLES = {"p50": ":", "p90": "-.", "p95": "-", "p99": "--"}
_PERF_CLIENT_PARTS = {
    "client_send": "Client Send",
    "network": "Network+Server Send/Recv",
    "queue": "Server Queue",
    "compute_input": "Server Compute Input",
    "compute_infer": "Server Compute Infer",
    "compute_output": "Server Compute Output",
    "client_receive": "Client Recv",
}
"""Names by which ``perf_client`` writes the parts of a request's time, in its order."""


@dataclass(frozen=True, slots=True)
class Row:
    """A load and what came of it.

    Attributes:
        load: what was done: ``"8 callers"``, ``"50/s"``.
        level: the number in it.
        batch_size: items of a request.
        throughput: items a second.
        latency_ms: ``mean`` and ``p50`` to ``p99`` as the caller saw it.
        parts_ms: mean of every part of it, see ``benchmarks.triton.statistics.PARTS``.
        server_batch: items that the server computed at a time.
        steady: whether three windows in a row agreed.
        requests: answers that were counted.
        steps_ms: of an ensemble, the server's parts of each step.
    """

    load: str
    level: float
    batch_size: int
    throughput: float
    latency_ms: dict[str, float]
    parts_ms: dict[str, float]
    server_batch: float
    steady: bool
    requests: int
    steps_ms: dict[str, dict[str, float]] = field(default_factory=dict)

    def as_dict(self, model: str) -> dict[str, object]:
        """Gives the row as JSON has it."""
        return {"model": model, **{name: getattr(self, name) for name in self.__slots__}}


def make_row(load: str, level: float, batch_size: int, measured: Measured) -> Row:
    """Sums a measurement up."""
    totals = np.array([1000 * answer.total for answer in measured.window.answers])
    if not totals.size:
        raise ValueError(f"no answer came in time with {load}: raise --window-seconds, or offer less")
    percentiles = {f"p{p}": round(float(np.percentile(totals, p)), 2) for p in PERCENTILES}
    return Row(
        load,
        level,
        batch_size,
        round(measured.window.throughput, 1),
        {"mean": round(float(totals.mean()), 2), **percentiles},
        {part: round(value, 3) for part, value in latency_parts(measured).items()},
        round(mean_batch(measured), 2),
        measured.steady,
        totals.size,
        {step: {part: round(ms, 3) for part, ms in parts.items()} for step, parts in step_parts(measured).items()},
    )


def csv_lines(rows: Sequence[Row]) -> list[list[object]]:
    """Returns the columns of ``perf_client``, microseconds, and then ours; the first line names them."""
    closed = all(row.load.endswith("callers") for row in rows)
    first, percentiles = rows[0], [f"p{p}" for p in PERCENTILES]
    names = ["Concurrency" if closed else "Request Rate", "Inferences/Second", *_PERF_CLIENT_PARTS.values()]
    names += [f"{name} latency" for name in percentiles]
    own = ["load", "batch_size", "throughput", *(f"latency_{name}_ms" for name in first.latency_ms)]
    own += [*(f"{part}_ms" for part in PARTS), "server_batch", "steady", "requests"]
    own += [f"{step}_{part}_ms" for step, parts in first.steps_ms.items() for part in parts]
    lines: list[list[object]] = [[*names, *own]]
    for row in rows:
        theirs = [row.parts_ms[part] for part in _PERF_CLIENT_PARTS] + [row.latency_ms[name] for name in percentiles]
        ours = [row.load, row.batch_size, row.throughput, *row.latency_ms.values(), *(row.parts_ms[p] for p in PARTS)]
        steps = [ms for parts in row.steps_ms.values() for ms in parts.values()]
        numbers = [f"{row.level:g}", row.throughput, *(round(1000 * ms) for ms in theirs)]
        lines.append([*numbers, *ours, row.server_batch, row.steady, row.requests, *steps])
    return lines


def plot(rows: Sequence[Row], title: str, path: Path) -> None:
    """Writes two pictures in one PNG: the latency's parts with the throughput, and throughput against percentiles."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only who wants a picture needs it

    figure = Figure(figsize=(12, 5), layout="constrained")
    figure.suptitle(title)
    left, right = figure.subplots(1, 2)
    names = [f"{row.load}\nbatch {row.batch_size}" for row in rows]
    floor = np.zeros(len(rows))
    for part in PARTS:
        heights = np.array([row.parts_ms[part] for row in rows])
        left.bar(names, heights, bottom=floor, label=part.replace("_", " "))
        floor += heights
    left.set_ylabel("mean latency, ms")
    left.legend(fontsize="small", loc="upper left")
    line = left.twinx()
    line.plot(names, [row.throughput for row in rows], color="black", marker="o")
    line.set_ylabel("items a second")
    line.set_ylim(bottom=0)
    for size in sorted({row.batch_size for row in rows}):
        chosen = [row for row in rows if row.batch_size == size]
        for name, style in _STYLES.items():
            latencies, throughputs = [row.latency_ms[name] for row in chosen], [row.throughput for row in chosen]
            right.plot(latencies, throughputs, style, marker="o", markersize=3, label=f"batch {size}, {name}")
        for row in chosen:
            right.annotate(f"{row.level:g}", (row.latency_ms["p95"], row.throughput), fontsize="small")
    right.set_xlabel("latency, percentiles, ms; numbers: load")
    right.set_ylabel("items a second")
    right.grid(visible=True, alpha=0.3)
    right.legend(fontsize="small")
    figure.savefig(path, dpi=120)
