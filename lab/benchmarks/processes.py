"""Work in processes of their own, which end with the benchmark, however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.managers import SyncManager
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, TypeVar

from service.processes.bound_program import die_with
from service.processes.scheduling import run_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Barrier
    from typing import Any

_Result = TypeVar("_Result")

_START_SECONDS = 60.0
"""Within which all processes come up."""
_ENDED = "one of the callers' processes ended before its work was done: try again, with fewer if memory is short"


class ProcessesError(RuntimeError):
    """Processes did not do what they were started for; the message says why, and what to do."""


def in_processes(work: Callable[..., _Result], shares: Sequence[tuple[Any, ...]]) -> list[_Result]:
    """Does the shares of a work at the same time, each in a process of its own, and waits for the last of them.

    Ctrl-C in the terminal reaches this process alone, which then ends the others.

    Args:
        work: what is done; a function of a module, so that other processes find it.
        shares: the arguments of each process.

    Returns:
        What came of each share, in order.

    Raises:
        ProcessesError: one of them was ended from outside.
    """
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(len(shares), mp_context=context, initializer=_obey, initargs=(os.getpid(),)) as pool:
        try:
            # Processes inherit what is blocked, so that none of them is interrupted while it still starts.
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                futures = [pool.submit(work, *share) for share in shares]
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
            return [future.result() for future in futures]
        except BaseException as error:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise ProcessesError(_ENDED) from None
            raise


@contextmanager
def meeting(processes: int) -> Iterator[Barrier]:
    """Makes a barrier for :func:`meet`, at which so many processes wait for one another."""
    manager = SyncManager(ctx=multiprocessing.get_context("spawn"))
    manager.start(die_with, (os.getpid(),))
    with manager:
        yield manager.Barrier(processes)


def meet(ready: Barrier) -> None:
    """Waits for the other processes, so that the work of all begins at the same time.

    Raises:
        ProcessesError: one of them does not come up.
    """
    try:
        ready.wait(_START_SECONDS)
    except BrokenBarrierError:
        message = f"the callers' processes did not come up within {_START_SECONDS:g} s: try again"
        raise ProcessesError(message) from None


def _obey(parent: int) -> None:
    """Runs in each process: it ends with its parent, which may have ended already.

    A caller has a machine of his own; here he shares the cores with what he measures, and must not wait for it.
    """
    die_with(parent)
    run_ahead()
