"""A server of our own for the length of the demonstration, and the proof that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

START_SECONDS = 180.0
STOP_SECONDS = 20.0
REAP_SECONDS = 2.0
READY = "listening on "
SERVE = (sys.executable, "-m", "vivavoce", "serve", "--port", "0")
LOG_LINES = 15


class ServerError(RuntimeError):
    """The server did not start, or did not stop as it should."""


@asynccontextmanager
async def running_server(
    log: IO[bytes],
    progress: Callable[[str], AbstractAsyncContextManager[None]],
    command: Sequence[str] = SERVE,
) -> AsyncIterator[str]:
    """Runs `vivavoce serve` on a free port; yields its address.

    Args:
        log: File that takes what the server logs.
        progress: Shows somebody that something is being done.
        command: Starts the server.

    Raises:
        ServerError: It does not come up, or leaves a process behind.
    """
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=log, start_new_session=True
    )
    family = {process.pid}
    try:
        async with progress("Starting Triton and the service"):
            address = await _address(process, Path(log.name))
        family |= _descendants(process.pid)
        yield address
        family |= _descendants(process.pid)
    finally:
        async with progress("Stopping them"):
            await _stop(process, family)


async def _address(process: asyncio.subprocess.Process, log: Path) -> str:
    """Waits until the server says where it listens."""
    if process.stdout is None:
        raise ServerError("The output of the server cannot be read.")
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            async for line in process.stdout:
                if line.decode().startswith(READY):
                    return line.decode().removeprefix(READY).strip()
    raise ServerError(f"The server did not come up. The end of its log:\n{_tail(log)}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:])


async def _stop(process: asyncio.subprocess.Process, family: set[int]) -> None:
    """Asks the server to stop, and makes sure that all of its family has.

    Raises:
        ServerError: A process had to be killed.
    """
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    left = await _left(family)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if left:
        raise ServerError(f"The server left the processes {left} behind; they were killed.")


async def _left(family: set[int]) -> list[int]:
    """Returns the processes that still run a moment after the end of the server."""
    for _ in range(20):
        if not any(_is_running(pid) for pid in family):
            return []
        await asyncio.sleep(REAP_SECONDS / 20)
    return sorted(pid for pid in family if _is_running(pid))


def _descendants(pid: int) -> set[int]:
    """Returns the processes that `pid` started, and those that these started."""
    found: set[int] = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # It ended while we looked.
            for child in map(int, children.read_text(encoding="ascii").split()):
                found |= {child} | _descendants(child)
    return found


def _is_running(pid: int) -> bool:
    """Tells whether a process is there and not just waiting to be counted out by its parent."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
