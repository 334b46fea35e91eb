"""Tasks that are ended in order, and iterators that are closed behind them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_T = TypeVar("_T")


def cancel(task: asyncio.Task[_T]) -> None:
    """Cancel `task`, unless it is the current one."""
    if task is not asyncio.current_task():
        task.cancel()


async def stop(tasks: list[asyncio.Task[_T]]) -> None:
    """Cancel unfinished tasks and wait for their end; ignore their errors.

    The task that asks for this, or waits for who asks, may be one of them. The former is left out: the caller's own
    task stops it. Because of the latter the wait is shielded: its being cancelled must not cancel `tasks` once more.
    """
    others = [task for task in tasks if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.shield(asyncio.gather(*others, return_exceptions=True))


async def each(things: AsyncIterable[_T] | Iterable[_T]) -> AsyncGenerator[_T, None]:
    """Iterate over `things`, and close a generator that makes them behind it."""
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


class TaskScope:
    """Tasks that end with the block that starts them; an error ends the block too.

    Like `asyncio.TaskGroup`, which Python 3.10 lacks, but the first error alone is raised, not a group.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._parent: asyncio.Task[Any] | None = None
        self._error: BaseException | None = None
        self._cancelled_parent = False
        self._leaving = False

    def create_task(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Start a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def __aenter__(self) -> Self:
        self._parent = asyncio.current_task()
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._leaving = True
        cancelled_here = self._take_back_cancellation() and isinstance(error, asyncio.CancelledError)
        try:
            while error is None and self._error is None and self._tasks:
                await asyncio.wait([*self._tasks], return_when=asyncio.FIRST_EXCEPTION)
        finally:
            await stop([*self._tasks])
        if self._error is not None and (error is None or cancelled_here):
            raise self._error

    def _take_back_cancellation(self) -> bool:
        """Return whether this scope alone cancelled the block, also on Python 3.10."""
        if not self._cancelled_parent or self._parent is None:
            return False
        return sys.version_info < (3, 11) or self._parent.uncancel() == 0

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is None or self._error is not None:
            return
        self._error = error
        if not self._leaving and self._parent is not None:
            self._cancelled_parent = self._parent.cancel()
