"""Removes what a Triton leaves when its service dies: ``guardian.py BASE``.

Started by :mod:`service.triton.run_folder`. Makes a run folder in BASE and tells of it in one line of JSON. When its
standard input ends, which it does however the service ends, it kills the processes of that run and removes the folder
and the shared memory. It also sweeps what runs of the same user have left whose service and guardian are both gone.

A script of the standard library's: no more than a bare Python stays beside the service.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from service.processes.private_memory import SHARED_MEMORY, close_to_others, why_not_isolated

PREFIX = "vivavoce-run-"
LOCK = "lock"
VARIABLE = "VIVAVOCE_RUN"
"""Environment variable of every process of a run; its value is the folder."""

_KILL_SECONDS, _KILL_PAUSE_SECONDS = 10.0, 0.02
_EVENT = struct.Struct("iIII")
_IN_ATTRIB, _IN_CREATE, _IN_MOVED_TO = 0x4, 0x100, 0x80


def segment_prefix(folder: Path) -> str:
    """Return how the names of a run's shared memory begin."""
    return f"vivavoce_{folder.name.removeprefix(PREFIX)}_"


def make(base: Path) -> tuple[Path, int]:
    """Make a run folder; return it with the open file that marks it as in use."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    # Locked before it has its name: a sweep takes a lock that nobody holds for one that was left.
    unnamed = folder / f".{LOCK}"
    file = os.open(unnamed, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(file, fcntl.LOCK_SH)
    unnamed.rename(folder / LOCK)
    return folder, file


def sweep(base: Path) -> None:
    """Remove the runs of this user in ``base`` that nobody holds any more."""
    for folder in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            file = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                clear(folder)
            finally:
                os.close(file)


def clear(folder: Path) -> None:
    """End the processes of a run, then removes its shared memory and its folder."""
    until = time.monotonic() + _KILL_SECONDS
    while (processes := list(_processes(folder))) and time.monotonic() < until:
        for process in processes:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_KILL_PAUSE_SECONDS)
    for segment in SHARED_MEMORY.glob(f"{segment_prefix(folder)}*"):
        with contextlib.suppress(OSError):
            segment.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _processes(folder: Path) -> Iterator[int]:
    """Find the processes of a run by their environment."""
    mark = b"\0" + f"{VARIABLE}={folder}".encode() + b"\0"
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                if mark in b"\0" + (entry / "environ").read_bytes() + b"\0":
                    yield int(entry.name)


def _watch_segments() -> int | None:
    """Watch the shared memory by inotify; return the file to read, or None."""
    libc = ctypes.CDLL(None)
    file = int(libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
    if file < 0:
        return None
    # Its rights are set after it is made.
    wanted = _IN_CREATE | _IN_ATTRIB | _IN_MOVED_TO
    return file if libc.inotify_add_watch(file, os.fsencode(SHARED_MEMORY), wanted) >= 0 else None


def _close_segments(events: int, prefix: str) -> None:
    """Remove other accounts' rights from new segments of the run."""
    with contextlib.suppress(BlockingIOError):
        told = os.read(events, 65_536)
        while told:
            *_, length = _EVENT.unpack_from(told)
            name = os.fsdecode(told[_EVENT.size : _EVENT.size + length].rstrip(b"\0"))
            told = told[_EVENT.size + length :]
            if name.startswith(prefix):
                close_to_others(SHARED_MEMORY / name)


def _until_the_service_ends(prefix: str, *, watch_segments: bool) -> None:
    events = _watch_segments() if watch_segments else None
    poll = select.poll()
    poll.register(sys.stdin, select.POLLIN)
    if events is not None:
        poll.register(events, select.POLLIN)
    while True:
        for file, _ in poll.poll():
            if file == events:
                _close_segments(events, prefix)
            elif not os.read(file, 4_096):
                return


def _main(base: str) -> None:
    # Whoever stops a whole group of processes stops the service by that, for which this one has to stay.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    refusal = why_not_isolated()
    try:
        folder, _ = make(Path(base))
    except OSError as error:
        sys.exit(f"{base}: {error.strerror}")
    sys.stdout.write(json.dumps({"folder": str(folder), "open_memory": refusal}) + "\n")
    sys.stdout.flush()
    try:
        sweep(Path(base))
        _until_the_service_ends(segment_prefix(folder), watch_segments=refusal is not None)
    finally:
        clear(folder)


if __name__ == "__main__":
    _main(*sys.argv[1:])
