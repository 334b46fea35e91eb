"""Server as a child process: start, listening address, stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from typing import IO, TYPE_CHECKING

from service.processes.bound_program import bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SERVE = ("-m", "vivavoce", "serve", "--port", "0")
"""Python's arguments that start the service on a port which the kernel chooses."""
START_SECONDS = 180.0
STOP_SECONDS = 60.0
"""More than a service takes that drains and then ends its Triton."""

_READY = "listening on "
_HTTP = "HTTP on "
_LOOK_SECONDS = 0.02
_LOG_CHARACTERS = 4_000


class StartError(RuntimeError):
    """A server did not come up; the message holds the end of its log."""


def start(command: Sequence[str], log: IO[bytes], *, own_session: bool = False) -> subprocess.Popen[str]:
    """Start a server bound to the calling thread; do not wait until it listens.

    Args:
        command: the program and its arguments.
        log: takes what it logs.
        own_session: whether Ctrl-C in the terminal reaches this process alone.
    """
    return subprocess.Popen(  # noqa: S603 - the caller's own command
        bound(command), stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=own_session
    )


def wait_for_address(process: subprocess.Popen[str], seconds: float = START_SECONDS) -> str | None:
    """Wait for a server's address; None if it ends or takes too long."""
    for address in _looks(process, seconds):
        if address is not None:
            return address
        time.sleep(_LOOK_SECONDS)
    return None


async def address_of(process: subprocess.Popen[str], seconds: float = START_SECONDS) -> str | None:
    """Do what :func:`wait_for_address` does, and let others run meanwhile."""
    for address in _looks(process, seconds):
        if address is not None:
            return address
        await asyncio.sleep(_LOOK_SECONDS)
    return None


def _looks(process: subprocess.Popen[str], seconds: float) -> Iterator[str | None]:
    """Yield None until a server has its address, then that; stop if it never will."""
    assert process.stdout is not None
    output = select.poll()
    output.register(process.stdout, select.POLLIN)
    deadline = time.monotonic() + seconds
    line = b""
    while True:
        ended = process.poll() is not None or time.monotonic() > deadline
        while output.poll(0):
            # No byte more than the line: whoever wants to know what follows it reads the output as usual.
            byte = os.read(process.stdout.fileno(), 1)
            if not byte:
                return
            line += byte
            if byte == b"\n":
                said, line = line.decode(errors="replace"), b""
                if said.startswith(_READY):
                    yield said.removeprefix(_READY).strip()
        if ended:
            return
        yield None


def http_url_of(process: subprocess.Popen[str]) -> str:
    """Return the URL of the HTTP port, which a service prints next."""
    assert process.stdout is not None
    return process.stdout.readline().removeprefix(_HTTP).strip()


def ask_to_stop(process: subprocess.Popen[str], patience: float = STOP_SECONDS) -> bool:
    """Stop a server as an operator would; tell whether it has ended within its time."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        return False
    return True


def stop(process: subprocess.Popen[str], patience: float = STOP_SECONDS) -> int:
    """Stop a server, by force if need be; return its exit status. Idempotent."""
    if not ask_to_stop(process, patience):
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
    return process.returncode


@contextlib.contextmanager
def listening(
    arguments: Sequence[str], log: Path, seconds: float = START_SECONDS
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``python ARGUMENTS`` until the body ends; yield it with its address.

    Args:
        arguments: of Python; :data:`SERVE` starts the service.
        log: file for what the server logs.
        seconds: how long it may take until it listens.

    Raises:
        StartError: it does not come up.
    """
    with log.open("wb") as file:
        process = start([sys.executable, *arguments], file)
    try:
        address = wait_for_address(process, seconds)
        if address is None:
            said = log.read_text(encoding="utf-8", errors="replace")[-_LOG_CHARACTERS:]
            raise StartError(f"{' '.join(arguments)} did not come up:\n{said}")
        yield process, address
    finally:
        stop(process)
