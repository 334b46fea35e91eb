"""A server of our own for the length of the demonstration, and the proof that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from service.processes import child_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Callable, Sequence

STOP_SECONDS = 20.0
REAP_SECONDS = 2.0
SERVE = (sys.executable, *child_process.SERVE)
LOG_LINES = 15


class ServerError(RuntimeError):
    """The server did not start, or did not stop as it should."""


@asynccontextmanager
async def running_server(
    log: IO[bytes],
    progress: Callable[[str], AbstractAsyncContextManager[None]],
    command: Sequence[str] = SERVE,
) -> AsyncIterator[str]:
    """Run `vivavoce serve` on a free port; yield its address.

    Args:
        log: File that takes what the server logs.
        progress: Shows somebody that something is being done.
        command: Starts the server.

    Raises:
        ServerError: It does not come up, or leaves a process behind.
    """
    process = child_process.start(command, log, own_session=True)
    family = {process.pid}
    try:
        async with progress("Starting Triton and the service"):
            address = await child_process.address_of(process)
            if address is None:
                raise ServerError(f"The server did not come up. The end of its log:\n{_tail(Path(log.name))}")
        family |= _descendants(process.pid)
        yield address
        family |= _descendants(process.pid)
    finally:
        async with progress("Stopping them"):
            await _stop(process, family)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:])


async def _stop(process: subprocess.Popen[str], family: set[int]) -> None:
    """Ask the server to stop, and make sure that all of its family has.

    Raises:
        ServerError: A process had to be killed.
    """
    await asyncio.to_thread(child_process.ask_to_stop, process, STOP_SECONDS)
    left = await _left(family)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    child_process.stop(process)
    if left:
        raise ServerError(f"The server left the processes {left} behind; they were killed.")


async def _left(family: set[int]) -> list[int]:
    """Return the processes that still run a moment after the end of the server."""
    for _ in range(20):
        if not any(_is_running(pid) for pid in family):
            return []
        await asyncio.sleep(REAP_SECONDS / 20)
    return sorted(pid for pid in family if _is_running(pid))


def _descendants(pid: int) -> set[int]:
    """Return the processes that `pid` started, and those that these started."""
    found: set[int] = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # It ended while we looked.
            for child in map(int, children.read_text(encoding="ascii").split()):
                found |= {child} | _descendants(child)
    return found


def _is_running(pid: int) -> bool:
    """Tell whether a process is there and not just waiting to be counted out by its parent."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
