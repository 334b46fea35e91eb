"""A service of our own for the length of an evaluation."""

from __future__ import annotations

import asyncio
import ctypes
import signal
import sys
import tempfile
from contextlib import asynccontextmanager, suppress
from typing import IO, TYPE_CHECKING

from modelkit.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

SERVE = (sys.executable, "-m", "vivavoce", "serve", "--port", "0", "--log-level", "WARNING")
READY = "listening on "
START_SECONDS = 180.0
STOP_SECONDS = 30.0
LOG_LINES = 5
LOG_CHARACTERS = 1_000

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


@asynccontextmanager
async def running_service(engines: Sequence[Path], command: Sequence[str] = SERVE) -> AsyncIterator[str]:
    """Runs ``vivavoce serve --engine`` on ports that the kernel chooses, and stops it; yields its address.

    Args:
        engines: engine directories, whose models take the places of the shipped ones.
        command: starts a service; the flags are appended.

    Raises:
        EngineError: it does not come up. This and every EngineError of the body tell what the service said last.
    """
    flags = [flag for engine in engines for flag in ("--engine", str(engine))]
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *command,
            *flags,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            # Ctrl-C in the terminal reaches the evaluation alone, which then stops the service in order.
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            address = await _address(process)
            if address is None:
                await _stop(process)
                raise EngineError(f"the service did not come up with {' '.join(flags)}: {_tail(log)}")
            try:
                yield address
            except EngineError as error:
                raise EngineError(f"{error}: {_tail(log)}") from error
        finally:
            await _stop(process)


def _tail(log: IO[bytes]) -> str:
    """Reads the end of what the service said."""
    log.seek(0)
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    return " ".join(lines[-LOG_LINES:])[-LOG_CHARACTERS:] or "it said nothing"


async def _address(process: asyncio.subprocess.Process) -> str | None:
    """Waits until the service says where it listens; None where it ends or takes too long."""
    assert process.stdout is not None
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            async for line in process.stdout:
                if line.decode().startswith(READY):
                    return line.decode().removeprefix(READY).strip()
    return None


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Ends the service in order, or at once where it takes too long."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def die_with_parent() -> None:
    """Runs in the child before exec: the kernel sends it SIGTERM when its parent dies, however that dies."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
