"""Measures one model under a sweep of loads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from benchmarks.triton import speech
from benchmarks.triton.inputs import declared_inputs, in_batches, made_up, read_inputs
from benchmarks.triton.load import Concurrency, RequestRate, TooSlowError
from benchmarks.triton.report import Row, make_row
from benchmarks.triton.requests import ModelClient
from benchmarks.triton.statistics import read_statistics
from benchmarks.triton.windows import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.triton.inputs import InputSpec
    from benchmarks.triton.load import Batch, Load

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


async def run_sweep(
    address: str, sweep: Sweep, on_row: Callable[[Row], None], on_inputs: Callable[[str], None] = lambda _: None
) -> list[Row]:
    """Measures every load of a sweep, one after another.

    Args:
        address: Triton's ``host:port`` (gRPC).
        sweep: what to measure.
        on_row: told every result as it comes.
        on_inputs: told what is sent where that was made up.

    Raises:
        SweepError: Triton cannot be reached, does not know the model, or refuses the inputs.
    """
    async with triton.InferenceServerClient(address) as client:
        try:
            return await _run(client, sweep, on_row, on_inputs)
        except* (InferenceServerException, TooSlowError) as group:
            raise SweepError(f"{sweep.model} at {address}: {_first(group)}") from group


async def _run(
    client: triton.InferenceServerClient,
    sweep: Sweep,
    on_row: Callable[[Row], None],
    on_inputs: Callable[[str], None],
) -> list[Row]:
    config = await client.get_model_config(sweep.model)
    specs = declared_inputs(config)
    sweep = _with_sequences(sweep, has_state=config.config.HasField("sequence_batching"))
    if sweep.inputs:
        items: Sequence[Batch] = read_inputs(sweep.inputs, specs)
    else:
        items, description = make_items(specs, sweep.lengths or {}, sweep.sequence_length)
        on_inputs(description)
    steps = list(dict.fromkeys(step.model_name for step in config.config.ensemble_scheduling.step))
    sender = ModelClient(client, sweep.model, specs)
    rows = []
    for size in sweep.batch_sizes:
        for name, level, load in _loads(sweep, in_batches(items, specs, size)):
            measured = await measure(
                load,
                sender.send,
                lambda: read_statistics(client, sweep.model, steps),
                window_seconds=sweep.window_seconds,
                tolerance=sweep.tolerance,
                most_windows=sweep.most_windows,
            )
            rows.append(make_row(name, level, size, measured))
            on_row(rows[-1])
    return rows


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
