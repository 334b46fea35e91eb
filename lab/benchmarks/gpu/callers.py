"""Callers in processes of their own, each of which sends its next request when it has the answer to the last.

Requests are made once and sent again and again: a slow generator must not be taken for a slow server.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from benchmarks.processes import in_processes, meet, meeting

if TYPE_CHECKING:
    from threading import Barrier

_WARM_UP_SECONDS = 1.0
_CALLERS_PER_PROCESS = 16
_REQUESTS_MADE = 4


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent.

    Attributes:
        address: of Triton, ``host:port`` (gRPC).
        model: its name there.
        callers: requests under way at a time.
        rows: of a request.
        length: tokens of a row; padding counts.
        vocabulary: from which tokens are drawn.
        shortest: least tokens of a row without its padding; ``length`` where nothing is padded.
        seconds: that are counted, after a second of warming up.
    """

    address: str
    model: str
    callers: int
    rows: int
    length: int
    vocabulary: int
    shortest: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What the callers saw.

    Attributes:
        latencies: seconds of each answered request.
        compute_ms: of the batch that each was computed in, with the wait for the batch before it.
        busiest: share of a core of the busiest process, 0 to 1.
        tokens: mean number of a row, without padding.
    """

    latencies: list[float]
    compute_ms: list[float]
    busiest: float
    tokens: float


def call(load: Load) -> Seen:
    """Runs a load."""
    processes = max(1, min((os.cpu_count() or 2) // 2, -(-load.callers // _CALLERS_PER_PROCESS), load.callers))
    shares = [load.callers // processes + (number < load.callers % processes) for number in range(processes)]
    with meeting(processes) as ready:
        parts = in_processes(_call_in_process, [(load, share, seed, ready) for seed, share in enumerate(shares)])
    return Seen(
        list(chain.from_iterable(part.latencies for part in parts)),
        list(chain.from_iterable(part.compute_ms for part in parts)),
        max(part.busiest for part in parts),
        float(np.mean([part.tokens for part in parts])),
    )


def _call_in_process(load: Load, callers: int, seed: int, ready: Barrier) -> Seen:
    rng = np.random.default_rng(seed)
    made = [_request(load, rng) for _ in range(_REQUESTS_MADE)]
    requests, tokens = [inputs for inputs, _ in made], float(np.mean([count for _, count in made]))
    # Rates of all processes are added up: they must be of the same seconds.
    meet(ready)
    cpu, wall = time.process_time(), time.monotonic()
    try:
        seen = asyncio.run(_call_all(load, callers, requests))
    except InferenceServerException as error:
        # As what it is it would not reach the other process, nor would what it says.
        raise RuntimeError(str(error)) from None
    busy = (time.process_time() - cpu) / (time.monotonic() - wall)
    return Seen([latency for latency, _ in seen], [ms for _, ms in seen], busy, tokens)


async def _call_all(load: Load, callers: int, requests: list[list[triton.InferInput]]) -> list[tuple[float, float]]:
    """Returns latency in seconds and compute in milliseconds of each request that was answered while it counted."""
    seen: list[tuple[float, float]] = []
    begin = time.monotonic() + _WARM_UP_SECONDS
    end = begin + load.seconds

    async def one(client: triton.InferenceServerClient, inputs: list[triton.InferInput]) -> None:
        while (sent := time.monotonic()) < end:
            result = await client.infer(load.model, inputs, client_timeout=60)
            answered = time.monotonic()
            if begin <= answered <= end:
                seen.append((answered - sent, float(result.as_numpy("COMPUTE_MS")[0, 0])))

    async with triton.InferenceServerClient(load.address) as client:
        await asyncio.gather(*(one(client, requests[number % len(requests)]) for number in range(callers)))
    return seen


def _request(load: Load, rng: np.random.Generator) -> tuple[list[triton.InferInput], float]:
    """Makes a request, and counts the tokens of a row of it."""
    lengths = rng.integers(load.shortest, load.length + 1, load.rows)
    mask = np.arange(load.length) < lengths[:, np.newaxis]
    ids = rng.integers(0, load.vocabulary, mask.shape, np.int32)
    inputs = []
    for name, kind, values in (("INPUT_IDS", "INT32", ids), ("ATTENTION_MASK", "BOOL", mask)):
        tensor = triton.InferInput(name, list(values.shape), kind)
        tensor.set_data_from_numpy(values)
        inputs.append(tensor)
    return inputs, float(lengths.mean())
