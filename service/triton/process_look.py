"""State of Triton's processes by the kernel: ended or stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

_STAT = re.compile(rb"^(?P<pid>\d+) \(.*\) (?P<state>\S) \d+ (?P<group>\d+) .* (?P<status>\d+)$", re.DOTALL)
_INSTANCE = re.compile(r"(?P<model>\S+)_\d+_\d+$")
_ENDED = "Z"
_AILING = {_ENDED: "has ended", "T": "is stopped"}
_SERVER = "tritonserver"


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process at one look.

    Attributes:
        state: as in proc(5): ``Z`` has ended, ``T`` is stopped by a signal.
        model: the model that it runs, ``tritonserver`` for Triton itself; None where it cannot be told.
        instance: name of the model's instance that it runs; None: it runs none, or has ended.
    """

    state: str
    model: str | None
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class Ailment:
    """Fault of a process.

    Attributes:
        text: the sentence that says it.
        model: the model that it runs; None: it is Triton itself.
    """

    text: str
    model: str | None


def look(group: int, known: Iterable[int] | None = None) -> dict[int, SeenProcess]:
    """Return the processes of a group by id; the group's id is Triton's.

    Args:
        group: its id.
        known: ids of those that are looked at; None: all, which takes several milliseconds.
    """
    found = {}
    names = filter(str.isdigit, os.listdir("/proc")) if known is None else map(str, known)  # noqa: PTH208 - thousands
    for name in names:
        with contextlib.suppress(OSError):
            stat = _STAT.match(_read(f"/proc/{name}/stat"))
            if stat and int(stat["group"]) == group:
                pid = int(stat["pid"])
                instance = None if pid == group else _instance(_read(f"/proc/{name}/cmdline"))
                model = _SERVER if pid == group else instance and instance["model"]
                found[pid] = SeenProcess(stat["state"].decode(), model, instance and instance[0])
    return found


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 65_536)
    finally:
        os.close(descriptor)


class ProcessWatch:
    """Comparison of looks: reports each process that can work no more, once.

    A process is ended or stopped only if it was so the last time too: Triton takes note of those that end in order, and
    a group that is woken up is not awake all at once.

    Attributes:
        told: processes that nothing more is told of.
    """

    def __init__(self) -> None:
        self.told: set[int] = set()
        self._before: Mapping[int, SeenProcess] = {}
        self._models: dict[int, str] = {}

    def ailing(
        self, seen: Mapping[int, SeenProcess], in_service: Container[str], *, are_loaded: bool = True
    ) -> Ailment | None:
        """Return the fault of Triton or of a served model, or None.

        Args:
            seen: the processes of this look.
            in_service: the models that count.
            are_loaded: whether they have been loaded. Until then a process may end because its model cannot be, and
                Triton says why.
        """
        # One that has ended has no command line any more.
        self._models |= {pid: process.model for pid, process in seen.items() if process.model}
        before, self._before = self._before, seen
        for pid, process in seen.items():
            state, model = process.state, self._models.get(pid)
            if pid not in before or before[pid].state != state or (model != _SERVER and model not in in_service):
                continue
            if state not in _AILING or pid in self.told:
                continue
            is_server = model == _SERVER
            if not (is_server or are_loaded) and state == _ENDED:
                continue
            self.told.add(pid)
            who = "Triton" if is_server else f"the process of the model {model}"
            return Ailment(f"{who} {_AILING[state]}", None if is_server else model)
        return None


class ExitWatch:
    """Watch for the unasked end of known model processes.

    Attributes:
        ended: the ids of those that have, and as what they were seen.
    """

    def __init__(self) -> None:
        self.ended: asyncio.Queue[tuple[int, SeenProcess]] = asyncio.Queue()
        self._watched: dict[int, int] = {}

    def watch(self, seen: Mapping[int, SeenProcess]) -> None:
        """Watch the processes of models among those that were seen, each once."""
        for pid, process in seen.items():
            if pid in self._watched or process.model in {None, _SERVER} or process.state in _AILING:
                continue
            # One that has ended since is told by the next look.
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(pid)
                self._watched[pid] = descriptor
                asyncio.get_running_loop().add_reader(descriptor, self._tell, pid, process)

    def close(self) -> None:
        """Watch no more."""
        for pid in tuple(self._watched):
            self._forget(pid)

    def _tell(self, pid: int, process: SeenProcess) -> None:
        self._forget(pid)
        if has_crashed(pid):
            self.ended.put_nowait((pid, process))

    def _forget(self, pid: int) -> None:
        descriptor = self._watched.pop(pid)
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


def is_alive(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    with contextlib.suppress(OSError):
        stat = _STAT.match(_read(f"/proc/{pid}/stat"))
        return stat is not None and stat["state"] not in {b"Z", b"X"}
    return False


def has_crashed(pid: int) -> bool:
    """Return whether a process ended in failure and was not reaped.

    Triton asks at once how a process has ended that it has told to.
    """
    with contextlib.suppress(OSError):
        stat = _STAT.match(_read(f"/proc/{pid}/stat"))
        return stat is not None and stat["state"] == b"Z" and stat["status"] != b"0"
    return False


def _instance(command_line: bytes) -> re.Match[str] | None:
    """Find the instance of a model in the arguments of the process that runs it."""
    names = (_INSTANCE.match(argument.decode(errors="replace")) for argument in command_line.split(b"\0"))
    return next(filter(None, names), None)
