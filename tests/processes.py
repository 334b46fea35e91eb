"""Starts the servers that tests talk to, and stops each by its own process id."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from modelkit.evaluation.service_process import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STOP_SECONDS = 30


@contextlib.contextmanager
def listening(arguments: list[str], log: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs ``python ARGUMENTS`` until the body ends; yields it with the address that it says it listens on."""
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - a system call, no more
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on "), f"{arguments} did not come up:\n{log.read_text()[-4000:]}"
        yield process, line.split()[-1]
    finally:
        stop(process)


def stop(process: subprocess.Popen[str]) -> int:
    """Stops a process as an operator would; returns its exit status."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
    return process.returncode
