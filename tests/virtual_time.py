"""Clocks for tests: one that they set, and an event loop's that jumps to the next timer. Hours pass in microseconds."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, TypeVar

    T = TypeVar("T")


_THREAD_SECONDS = 10.0


class Clock:
    """Stands still until a test moves it."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: what the loop would have slept is added to its clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            # Only a thread can go on with it.
            ready = super().select(_THREAD_SECONDS)
            if not ready:
                raise RuntimeError("everything waits and no timer runs: the code under test hangs")
        elif not ready:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop for code that needs no sockets or child processes, and no threads while timers run."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def pass_seconds(self, seconds: float) -> None:
        """Moves the clock as work does that takes so long."""
        self._jumping.now += seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs ``main`` in virtual time; fails if it leaves a task running."""
    loop = VirtualTimeLoop()
    try:
        result = loop.run_until_complete(main)
        left = [task for task in asyncio.all_tasks(loop) if not task.done()]
        assert not left, f"left running: {left}"
        return result
    finally:
        loop.close()
