"""Measures one model under a sweep of loads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from tritonclient.utils import InferenceServerException

from benchmarks.triton import speech
from benchmarks.triton.connection import connect
from benchmarks.triton.inputs import declared_inputs, in_batches, made_up, read_inputs
from benchmarks.triton.load import Concurrency, RequestRate, TooSlowError
from benchmarks.triton.report import Row, make_row
from benchmarks.triton.requests import ModelClient
from benchmarks.triton.shared_memory import open_regions
from benchmarks.triton.statistics import read_statistics, steps_of
from benchmarks.triton.windows import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tritonclient.grpc import model_config_pb2

    from benchmarks.triton.connection import Connection
    from benchmarks.triton.inputs import InputSpec
    from benchmarks.triton.load import Batch, Load
    from benchmarks.triton.shared_memory import Regions

_MADE_UP_ITEMS = 64


class SweepError(RuntimeError):
    """The sweep cannot go on; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is measured.

    Attributes:
        model: its name in Triton.
        concurrency: numbers of callers of closed loops.
        request_rates: requests a second of open loops.
        batch_sizes: items of a request; every load is run with every size.
        sequence_length: requests of a sequence; 0: of a model with state so many as suit speech, of others none.
        inputs: file of inputs; None to make them up.
        lengths: shapes of made-up inputs that may have any.
        window_seconds: length of a measuring window.
        tolerance: how far three windows may differ, as a share.
        most_windows: after so many a load is left, steady or not.
        protocol: ``grpc`` or ``http``.
        shared_memory: what inputs and outputs are passed in: ``none`` (messages), ``system`` or ``cuda``.
        output_bytes: with shared memory, room for each output; 0 leaves outputs in the message.
    """

    model: str
    concurrency: Sequence[int] = ()
    request_rates: Sequence[float] = ()
    batch_sizes: Sequence[int] = (1,)
    sequence_length: int = 0
    inputs: Path | None = None
    lengths: Mapping[str, Sequence[int]] | None = None
    window_seconds: float = 2.0
    tolerance: float = 0.1
    most_windows: int = 10
    protocol: str = "grpc"
    shared_memory: str = "none"
    output_bytes: int = 102_400


async def run_sweep(
    address: str, sweep: Sweep, on_row: Callable[[Row], None], on_inputs: Callable[[str], None] = lambda _: None
) -> list[Row]:
    """Measures every load of a sweep, one after another.

    Args:
        address: Triton's ``host:port``, or ``unix:path`` (gRPC).
        sweep: what to measure.
        on_row: told every result as it comes.
        on_inputs: told what is sent where that was made up.

    Raises:
        SweepError: Triton cannot be reached, does not know the model, or refuses the inputs.
    """
    connection = connect(address, sweep.protocol)
    try:
        # Asked first: shared memory is of a Triton that is there.
        config = await connection.config(sweep.model)
        regions = open_regions(connection, address, sweep.shared_memory, sweep.output_bytes)
        try:
            if regions is not None:
                await regions.open()
            return await _run(connection, config, regions, sweep, on_row, on_inputs)
        finally:
            if regions is not None:
                await regions.close()
    except* (InferenceServerException, TooSlowError, OSError) as group:
        raise SweepError(f"{sweep.model} at {address}: {_with_cure(_first(group), sweep)}") from group
    finally:
        await connection.close()


async def _run(
    connection: Connection,
    config: model_config_pb2.ModelConfig,
    regions: Regions | None,
    sweep: Sweep,
    on_row: Callable[[Row], None],
    on_inputs: Callable[[str], None],
) -> list[Row]:
    specs = declared_inputs(config)
    sweep = _with_sequences(sweep, has_state=config.HasField("sequence_batching"))
    if sweep.inputs:
        items: Sequence[Batch] = read_inputs(sweep.inputs, specs)
    else:
        items, description = make_items(specs, sweep.lengths or {}, sweep.sequence_length)
        on_inputs(description)
    sender = ModelClient(connection, sweep.model, specs, [output.name for output in config.output], regions)
    models = [sweep.model, *await steps_of(connection, sweep.model)]
    rows = []
    for size in sweep.batch_sizes:
        for name, level, load in _loads(sweep, in_batches(items, specs, size)):
            measured = await measure(
                load,
                sender.send,
                lambda: read_statistics(connection, models),
                window_seconds=sweep.window_seconds,
                tolerance=sweep.tolerance,
                most_windows=sweep.most_windows,
            )
            rows.append(make_row(name, level, size, measured))
            on_row(rows[-1])
    return rows


def _with_cure(error: Exception, sweep: Sweep) -> str:
    if sweep.shared_memory != "none" and "output" in str(error) and "size" in str(error):
        return f"{error}: raise --output-shared-memory-size"
    if "shared memory" in str(error):
        return f"{error}: --shared-memory needs a Triton on this machine that shares its /dev/shm"
    return str(error)


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    """Digs out the first of the errors that callers in a group had."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _with_sequences(sweep: Sweep, *, has_state: bool) -> Sweep:
    """Give a model with state sequences, and refuse them to others.

    Raises:
        SweepError: the sweep does not suit the model.
    """
    if has_state and sweep.request_rates:
        raise SweepError(f"{sweep.model} keeps state, so its requests belong to callers: use --concurrency")
    if not has_state and sweep.sequence_length:
        raise SweepError(f"{sweep.model} keeps no state, so it has no sequences: leave --sequence-length out")
    return replace(sweep, sequence_length=sweep.sequence_length or has_state * speech.DEFAULT_SEQUENCE_LENGTH)


def make_items(
    specs: Sequence[InputSpec], lengths: Mapping[str, Sequence[int]], sequence_length: int
) -> tuple[list[Batch], str]:
    """Make up inputs: recorded speech for a recognizer, random values for other models.

    Args:
        specs: what the model declares.
        lengths: shapes for the inputs that may have any.
        sequence_length: requests of a sequence, for the description.

    Returns:
        The items, and a line that tells what they are.
    """
    rng = np.random.default_rng(1)
    audio = next((spec for spec in specs if speech.takes_speech(spec)), None)
    if audio is None:
        items: list[Batch] = [made_up(specs, lengths, rng) for _ in range(_MADE_UP_ITEMS)]
        shapes = ", ".join(f"{name} {list(values.shape)}" for name, values in items[0].items())
        return items, f"{shapes}: made-up values; --input names a file of real ones"
    size = int(np.prod(lengths.get(audio.name, (speech.DEFAULT_SAMPLES,))))
    others = made_up(specs, {audio.name: (size,), **lengths}, rng)
    return [{**others, audio.name: piece} for piece in speech.pieces(size)], speech.describe(size, sequence_length)


def _loads(sweep: Sweep, batches: Sequence[Batch]) -> list[tuple[str, float, Load]]:
    closed = [(f"{n} callers", float(n), Concurrency(batches, n, sweep.sequence_length)) for n in sweep.concurrency]
    opened = [(f"{rate:g}/s", rate, RequestRate(batches, rate)) for rate in sweep.request_rates]
    return [*closed, *opened]
