"""What the kernel tells of Triton's processes: which have ended, and which are stopped."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

_STAT = re.compile(rb"^(?P<pid>\d+) \(.*\) (?P<state>\S) \d+ (?P<group>\d+) ", re.DOTALL)
_INSTANCE = re.compile(r"(?P<model>\S+)_\d+_\d+$")
_ENDED, _STOPPED = "Z", "T"
_SERVER = "tritonserver"


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process at one look.

    Attributes:
        state: as in proc(5): ``Z`` has ended, ``T`` is stopped by a signal.
        model: the model that it runs, ``tritonserver`` for Triton itself; None where it cannot be told.
    """

    state: str
    model: str | None


def look(group: int) -> dict[int, SeenProcess]:
    """Returns the processes of a group by their ids; the group is Triton's, whose id it has."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - a machine may have thousands
        with contextlib.suppress(OSError):
            stat = _STAT.match(_read(f"/proc/{name}/stat"))
            if stat and int(stat["group"]) == group:
                pid = int(stat["pid"])
                model = _SERVER if pid == group else _model(_read(f"/proc/{name}/cmdline"))
                found[pid] = SeenProcess(stat["state"].decode(), model)
    return found


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 65_536)
    finally:
        os.close(descriptor)


class ProcessWatch:
    """Tells from one look to the next which process can work no more.

    A process is ended or stopped only if it was so the last time too: Triton takes note of those that end in order, and
    a group that is woken up is not awake all at once.
    """

    def __init__(self) -> None:
        self._before: Mapping[int, SeenProcess] = {}
        self._models: dict[int, str] = {}

    def ailing(self, seen: Mapping[int, SeenProcess], in_service: Container[str]) -> str | None:
        """Returns what is wrong with Triton itself or with a model that is in service, None while nothing is."""
        # One that has ended has no command line any more.
        self._models |= {pid: process.model for pid, process in seen.items() if process.model}
        before, self._before = self._before, seen
        for pid, process in seen.items():
            state, model = process.state, self._models.get(pid)
            if pid not in before or before[pid].state != state or (model != _SERVER and model not in in_service):
                continue
            who = "Triton" if model == _SERVER else f"the process of the model {model}"
            if state == _ENDED:
                return f"{who} has ended"
            if state == _STOPPED:
                return f"{who} is stopped"
        return None


def _model(command_line: bytes) -> str | None:
    """Finds the model in the arguments of the process that runs it."""
    names = (_INSTANCE.match(argument.decode(errors="replace")) for argument in command_line.split(b"\0"))
    return next((name["model"] for name in names if name), None)
