"""A service of our own for the length of an evaluation."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING

from modelkit.errors import EngineError
from service.processes import child_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

SERVE = (sys.executable, *child_process.SERVE, "--log-level", "WARNING")
STOP_SECONDS = 60.0
LOG_LINES = 5
LOG_CHARACTERS = 1_000


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
        # Ctrl-C in the terminal reaches the evaluation alone, which then stops the service in order.
        process = child_process.start([*command, *flags], log, own_session=True)
        try:
            address = await child_process.address_of(process)
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


async def _stop(process: subprocess.Popen[str]) -> None:
    await asyncio.to_thread(child_process.stop, process, STOP_SECONDS)
