"""One line a load: throughput, latency, and where the time went."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.triton.statistics import PARTS, latency_parts, mean_batch, step_parts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.triton.windows import Measured

_CSV_PARTS = (
    "Client Send",
    "Network+Server Send/Recv",
    "Server Queue",
    "Server Compute Input",
    "Server Compute Infer",
    "Server Compute Output",
    "Client Recv",
)
"""How perf_client names the parts of the latency."""
PERCENTILES = (50, 90, 95, 99)


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
        steps_ms: of an ensemble, mean of the server's parts of every step, by the step's name.
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
    steps_ms: dict[str, dict[str, float]]

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
        {
            step: {part: round(value, 3) for part, value in parts.items()}
            for step, parts in step_parts(measured).items()
        },
    )


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Writes a line a load, with the columns of NVIDIA's perf_client first, in its units (microseconds).

    Raises:
        ValueError: the rows are of both kinds of loads, which it has no columns for.
    """
    kinds = {row.load.endswith("/s") for row in rows}
    if len(kinds) != 1:
        raise ValueError("a table is of callers or of a request rate: give --csv with one of them")
    level = "Request Rate" if kinds.pop() else "Concurrency"
    columns = dict(zip(_CSV_PARTS, PARTS, strict=True))
    steps = [(step, part) for step, parts in rows[0].steps_ms.items() for part in parts]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [level, "Inferences/Second", *columns, *(f"p{p} latency" for p in PERCENTILES), "Avg latency"]
            + [f"{step} {part.replace('_', ' ')}" for step, part in steps]
            + ["Batch Size", "Server Batch", "Steady", "Requests"]
        )
        for row in rows:
            times = [*(row.parts_ms[part] for part in columns.values())]
            times += [*(row.latency_ms[f"p{p}"] for p in PERCENTILES), row.latency_ms["mean"]]
            times += [row.steps_ms[step][part] for step, part in steps]
            counts = [row.batch_size, row.server_batch, row.steady, row.requests]
            writer.writerow([f"{row.level:g}", row.throughput, *(round(1000 * time) for time in times), *counts])


def plot(rows: Sequence[Row], title: str, path: Path) -> None:
    """Writes two pictures in one PNG: the latency's parts with the throughput, and throughput against latency."""
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
        latencies, throughputs = [row.latency_ms["p95"] for row in chosen], [row.throughput for row in chosen]
        right.plot(latencies, throughputs, marker="o", label=f"batch {size}")
        for row in chosen:
            right.annotate(f"{row.level:g}", (row.latency_ms["p95"], row.throughput), fontsize="small")
    right.set_xlabel("latency, 95th percentile, ms")
    right.set_ylabel("items a second")
    right.grid(visible=True, alpha=0.3)
    right.legend()
    figure.savefig(path, dpi=120)
