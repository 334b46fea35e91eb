"""Event loop in a thread that all synchronous clients of a process share."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_T = TypeVar("_T")

SLICE_SECONDS = 1.0
"""Longest uninterrupted wait: on Windows Ctrl-C is seen only between two of them."""

_EXIT_SECONDS = 2.0


class BackgroundLoop:
    """Event loop on a daemon thread, from the first call to the process's exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lost_in_fork = False

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run `work` on the loop and wait for its result; an interrupt cancels it.

        Raises:
            RuntimeError: The caller is the loop itself, which must not wait; or the loop was used before a fork.
        """
        try:
            loop = self._started()
        except RuntimeError:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            while not future.done():
                wait([future], timeout=SLICE_SECONDS)
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def call_soon(self, callback: Callable[..., object], *arguments: object) -> None:
        """Schedule `callback` on the loop without waiting; ignored once it is stopped."""
        loop = self._loop
        if loop is None:
            return
        try:
            loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # It was closed meanwhile, at the exit of the process.
            return

    def stop(self) -> None:
        """Cancel what runs on the loop and end its thread."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_EXIT_SECONDS)

    def forget(self) -> None:
        """Begin anew in a process that was forked: the thread is not there.

        Nor are gRPC's own threads, if it was used, and without them a connection hangs or fails at random.
        """
        self._lock = threading.Lock()
        self._lost_in_fork = self._lost_in_fork or self._loop is not None
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if threading.current_thread() is self._thread:
            raise RuntimeError("The background loop cannot wait for itself; call from another thread.")
        if self._lost_in_fork:
            raise RuntimeError(
                "This process was forked after Vivavoce was used, which gRPC does not survive: connect for the first "
                "time after the fork, or start processes with `multiprocessing.get_context('spawn')`."
            )
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="vivavoce-loop", daemon=True)
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


background = BackgroundLoop()
"""The loop of this process."""

atexit.register(background.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.forget)
