"""`asyncio.timeout`, which Python 3.10 lacks."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class Timeout:
    """Time limit for a block of code, after which TimeoutError is raised.

    Args:
        seconds: The limit; 0 or less ends the block where it first waits.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._timer = asyncio.get_running_loop().call_later(max(self._seconds, 0.0), self._expire, task)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        assert self._timer is not None
        self._timer.cancel()
        if self._expired and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def expired(self) -> bool:
        """Return whether the limit was reached inside the block."""
        return self._expired

    def _expire(self, task: asyncio.Task[object]) -> None:
        self._expired = True
        task.cancel()


if sys.version_info >= (3, 11):
    from asyncio import timeout
else:
    timeout = Timeout

__all__ = ["timeout"]
