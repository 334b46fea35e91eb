"""`vivavoce bench triton`: what one model of a Triton carries, and where its time goes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from vivavoce.cli.extras import extra
from vivavoce.cli.options import FileToWrite, check_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.triton.report import Row


def _numbers(_: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Reads `4`, `1,2,8` or `START:END[:STEP]`; nothing only where that is the default."""
    try:
        if ":" in value:
            start, end, *step = (int(part) for part in value.split(":", maxsplit=2))
            numbers = tuple(range(start, end + 1, *step))
        else:
            numbers = tuple(int(part) for part in value.split(",") if part)
    except ValueError:
        numbers = (0,)
    if any(number < 1 for number in numbers) or (not numbers and value != parameter.default):
        raise click.BadParameter(f"{value!r} is no list of numbers; write 4, or 1,2,8, or START:END:STEP")
    return numbers


def _shapes(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Reads `NAME:16000` and `NAME:3,224`."""
    try:
        pairs = (value.rsplit(":", 1) for value in values)
        return {name: tuple(int(size) for size in sizes.split(",")) for name, sizes in pairs}
    except ValueError as error:
        raise click.BadParameter(f"{values[0]!r} is no shape; write NAME:16000 or NAME:3,224") from error


@click.command()
@click.argument("model")
@click.option(
    "--triton",
    "address",
    metavar="HOST:PORT|unix:PATH",
    required=True,
    callback=check_address,
    help="Triton's address; `unix:` is for gRPC.",
)
@click.option(
    "--protocol",
    type=click.Choice(["grpc", "http"]),
    default="grpc",
    show_default=True,
    help="What Triton is asked by.",
)
@click.option(
    "--shared-memory",
    type=click.Choice(["none", "system", "cuda"]),
    default="none",
    show_default=True,
    help="Pass inputs and outputs in memory that Triton shares, rather than in messages.",
)
@click.option(
    "--output-shared-memory-size",
    "output_bytes",
    type=click.IntRange(0),
    default=102_400,
    show_default=True,
    help="Bytes for each output in shared memory; 0: outputs come in messages.",
)
@click.option("--concurrency", callback=_numbers, default="", help="Callers at a time: 4, or 1,2,8, or 1:16:5.")
@click.option("--request-rate", callback=_numbers, default="", help="Requests a second, likewise: an open loop.")
@click.option("--batch-size", callback=_numbers, default="1", show_default=True, help="Items of a request, likewise.")
@click.option(
    "--sequence-length",
    type=click.IntRange(0),
    default=0,
    help="Requests of a sequence, for a model with state.  [default: 30]",
)
@click.option("--input", "inputs", type=click.Path(path_type=Path, exists=True), help="Inputs: a JSON object a line.")
@click.option("--shape", "lengths", multiple=True, callback=_shapes, help="Shape of a made-up input, NAME:16000.")
@click.option("--window-seconds", type=click.FloatRange(0.2), default=2, show_default=True, help="A measuring window.")
@click.option(
    "--tolerance", type=click.FloatRange(0.01, 1), default=0.1, show_default=True, help="Between three windows."
)
@click.option(
    "--most-windows", type=click.IntRange(3), default=10, show_default=True, help="Then go on, steady or not."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a load, and nothing else.")
@click.option("--csv", "csv_file", type=FileToWrite(), help="Write a line a load, with perf_client's columns.")
@click.option("--plot", "plot_file", type=FileToWrite(), help="Write the two pictures as PNG.")
def triton(
    *,
    model: str,
    address: str,
    protocol: str,
    shared_memory: str,
    output_bytes: int,
    concurrency: tuple[int, ...],
    request_rate: tuple[int, ...],
    batch_size: tuple[int, ...],
    sequence_length: int,
    inputs: Path | None,
    lengths: dict[str, tuple[int, ...]],
    window_seconds: float,
    tolerance: float,
    most_windows: int,
    as_json: bool,
    csv_file: Path | None,
    plot_file: Path | None,
) -> None:
    """Load MODEL and report throughput, latency, and where the time goes."""
    with extra("bench", "Measuring a model"):
        from benchmarks.triton import report, sweep  # noqa: PLC0415 - needs the extras
    if sequence_length and request_rate:
        raise click.UsageError("Sequences need callers: use --concurrency, not --request-rate.")
    if lengths and inputs is not None:
        raise click.UsageError("Inputs from a file have their own shapes: use either --input or --shape.")
    if protocol == "http" and address.startswith("unix:"):
        raise click.UsageError("Triton has no HTTP over a Unix socket: give --triton its HOST:PORT.")
    if csv_file is not None and concurrency and request_rate:
        raise click.UsageError("A table is of callers or of a request rate: give --csv with one of them.")
    plan = sweep.Sweep(
        model,
        concurrency or (() if request_rate else (1,)),
        request_rate,
        batch_size,
        sequence_length,
        inputs,
        lengths,
        window_seconds,
        tolerance,
        most_windows,
        protocol,
        shared_memory,
        output_bytes,
    )

    def show(row: Row) -> None:
        click.echo(json.dumps(row.as_dict(model)) if as_json else _line(row))

    try:
        with Console(stderr=True).status(f"measuring {model} …"):
            rows = asyncio.run(sweep.run_sweep(address, plan, show, lambda text: click.echo(text, err=True)))
    except (sweep.SweepError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    if csv_file is not None:
        report.write_csv(rows, csv_file)
    if plot_file is not None:
        report.plot(rows, model, plot_file)


def _line(row: Row) -> str:
    parts = "  ".join(f"{part.replace('_', ' ')} {value:.1f}" for part, value in row.parts_ms.items())
    latency = "  ".join(f"{name} {value:g}" for name, value in row.latency_ms.items())
    steady = "" if row.steady else "  (not steady)"
    lines = [f"{row.load}, batch {row.batch_size}: {row.throughput:g}/s  {latency} ms{steady}", f"    {parts}"]
    for step, own in row.steps_ms.items():
        lines.append(
            f"    {step}: " + "  ".join(f"{part.replace('_', ' ')} {value:.1f}" for part, value in own.items())
        )
    return "\n".join(lines)
