"""Keeps a model busy: so many requests at a time, or so many a second, alone or in sequences."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.triton.requests import Step, Timed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence

    import numpy.typing as npt

    Batch = Mapping[str, npt.NDArray[Any]]
    Send = Callable[[Batch, Step], Coroutine[Any, Any, Timed]]
    Note = Callable[[Timed], None]

MAX_WAITING = 2000
"""With a request rate, so many may wait at a time: a model that is slower than the rate must not fill the memory."""


class TooSlowError(RuntimeError):
    """The model answers fewer requests than are offered."""


class Load(Protocol):
    """A way of keeping a model busy."""

    async def run(self, send: Send, note: Note) -> None:
        """Sends requests until cancelled, and passes every answer to ``note``."""


class Concurrency:
    """So many callers, each of which sends its next request when it has the answer to the last (a closed loop).

    Args:
        batches: what is sent, in turn.
        callers: how many.
        sequence_length: requests of a sequence; 0 where the model has none.
    """

    def __init__(self, batches: Sequence[Batch], callers: int, sequence_length: int = 0) -> None:
        self._batches = batches
        self._callers = callers
        self._sequence_length = sequence_length

    async def run(self, send: Send, note: Note) -> None:
        """See :class:`Load`."""
        async with asyncio.TaskGroup() as callers:
            for number in range(self._callers):
                callers.create_task(self._call(number, send, note))

    async def _call(self, number: int, send: Send, note: Note) -> None:
        steps = sequence_steps(self._sequence_length, random.Random(number))
        for batch in itertools.islice(itertools.cycle(self._batches), number % len(self._batches), None):
            step = next(steps)
            try:
                note(await _to_its_end(send(batch, step)))
            except asyncio.CancelledError:
                if step.sequence and not step.end:
                    await send(batch, Step(step.sequence, end=True))
                raise


class RequestRate:
    """So many requests a second, whether the model keeps up or not (an open loop).

    Args:
        batches: what is sent, in turn.
        per_second: how many.
        poisson: exponentially distributed gaps rather than equal ones.
        seed: of the gaps.
    """

    def __init__(self, batches: Sequence[Batch], per_second: float, poisson: bool = True, seed: int = 1) -> None:
        self._batches = batches
        self._per_second = per_second
        self._poisson = poisson
        self._rng = random.Random(seed)

    async def run(self, send: Send, note: Note) -> None:
        """See :class:`Load`.

        Raises:
            TooSlowError: the model is so much slower than the rate that :data:`MAX_WAITING` requests wait.
        """
        waiting: set[asyncio.Task[None]] = set()

        async def one(batch: Batch, due: float) -> None:
            timed = await _to_its_end(send(batch, Step()))
            # Who was to be served earlier has waited, whatever kept the generator.
            note(replace(timed, began=due, send=timed.send + timed.began - due))

        due = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for batch in itertools.cycle(self._batches):
                due += self._rng.expovariate(self._per_second) if self._poisson else 1 / self._per_second
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                if len(waiting) >= MAX_WAITING:
                    raise TooSlowError(
                        f"the model answers fewer than {self._per_second:g} requests a second: offer less"
                    )
                task = tasks.create_task(one(batch, due))
                waiting.add(task)
                task.add_done_callback(waiting.discard)


async def _to_its_end(sending: Coroutine[Any, Any, Timed]) -> Timed:
    """Waits for a request, when cancelled too.

    Triton hears of no cancellation: it can end it, and it drops whatever else waits for the same sequence.
    """
    request = asyncio.create_task(sending)
    try:
        return await asyncio.shield(request)
    except asyncio.CancelledError:
        await request
        raise


def sequence_steps(length: int, rng: random.Random) -> Iterator[Step]:
    """Yields the places of requests in sequences of ``length`` one after another, each with an ID of its own."""
    while True:
        if length == 0:
            yield Step()
            continue
        sequence = rng.getrandbits(62) + 1
        for place in range(length):
            yield Step(sequence, place == 0, place == length - 1)
