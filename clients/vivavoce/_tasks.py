"""Tasks that are ended in order, and iterators that are closed behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from typing import TypeVar

_T = TypeVar("_T")


def cancel(task: asyncio.Task[_T]) -> None:
    """Cancels `task`, unless it is the one that runs: that has learned of the end by itself."""
    if task is not asyncio.current_task():
        task.cancel()


async def stop(tasks: list[asyncio.Task[_T]]) -> None:
    """Cancels what still runs and waits for its end; what failed has been told, or does not matter any more.

    The task that asks for this, or waits for who asks, may be one of them. The former is left out: the caller's own
    task stops it. Because of the latter the wait is shielded: its being cancelled must not cancel `tasks` once more.
    """
    others = [task for task in tasks if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.shield(asyncio.gather(*others, return_exceptions=True))


async def each(things: AsyncIterable[_T] | Iterable[_T]) -> AsyncGenerator[_T, None]:
    """Iterates over `things`, and closes a generator that makes them behind it."""
    if not isinstance(things, AsyncIterable):
        for something in things:
            yield something
            await asyncio.sleep(0)  # The other tasks get their turn.
        return
    iterator = aiter(things)
    try:
        async for something in iterator:
            yield something
    finally:
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()
