"""A service of the harness: on small file systems of its own, behind relays, with a clock that can be set."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

import vivavoce
from service.processes.child_process import StartError, address_of, start, stop
from service.triton.process import free_port
from tests.robustness.harness.relay import Relay
from tests.robustness.kills import until_it_answers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

MAX_CONVERSATIONS = 16
DISK_BYTES = 256 << 20
_WITH_SMALL_SHARED_MEMORY = (
    *("unshare", "--mount", "--propagation", "private"),
    *("sh", "-c", 'mount -t tmpfs -o size=512m tmpfs /dev/shm && exec "$0" "$@"'),
)
"""A mount namespace in which the system's shared memory is small, and so is Triton's own: 1 GiB."""
_STEPPED = "tests.robustness.harness.stepped_service"


class World:
    """A running service, and the connections to it.

    Args:
        folder: for its logs.
        temporary: its temporary folder, on a file system of its own if that can be filled.
        can_mount: whether file systems may be mounted for it.

    Attributes:
        service: its process.
        address: where it listens itself.
        relays: what callers connect to.
        temporary: as above.
        stops: exit statuses of the services that were stopped.
    """

    def __init__(self, folder: Path, temporary: Path, *, can_mount: bool) -> None:
        self.service: subprocess.Popen[str] | None = None
        self.address = ""
        self.stops: list[int] = []
        self.temporary = temporary
        self.relays: list[Relay] = []
        self._folder = folder
        self._can_mount = can_mount
        self._port = free_port()
        self._numbers = itertools.count(1)

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, folder: Path, callers: int) -> AsyncIterator[tuple[Self, list[str]]]:
        """Runs a service while the body runs; yields it with an address for each caller."""
        temporary = folder / "tmp"
        temporary.mkdir()
        async with contextlib.AsyncExitStack() as cleanup:
            is_small = can_mount()
            if is_small:
                cleanup.enter_context(_small_file_system(temporary))
            world = cls(folder, temporary, can_mount=is_small)
            cleanup.push_async_callback(world._stop)
            await world._start()
            async with vivavoce.connect(world.address) as client:
                await until_it_answers(client, 120)
            world.relays = [Relay(world.address, seed) for seed in range(callers)]
            addresses = [await cleanup.enter_async_context(relay.listening()) for relay in world.relays]
            yield world, addresses

    @property
    def pid(self) -> int:
        """Process id of the service."""
        assert self.service is not None
        return self.service.pid

    def next_number(self) -> int:
        """Returns another number at every call."""
        return next(self._numbers)

    async def settle(self) -> None:
        """Waits until the service answers whole."""
        async with vivavoce.connect(self.address) as client:
            await until_it_answers(client)

    async def replace(self) -> None:
        """Stops the service, and starts another one at the same address."""
        await self._stop()
        await self._start()

    def shared_memory_of(self, pid: int) -> Path:
        """Returns the shared memory that a process sees."""
        return Path(f"/proc/{pid}/root/dev/shm")

    def log(self) -> str:
        """Returns what the services have logged."""
        return "".join(path.read_text(errors="replace") for path in sorted(self._folder.glob("log-*")))

    async def _start(self) -> None:
        log = self._folder / f"log-{self.next_number()}"
        isolated = _WITH_SMALL_SHARED_MEMORY if self._can_mount else ()
        command = [*isolated, sys.executable, "-m", _STEPPED, str(self.temporary), "serve", "--port", str(self._port)]
        with log.open("wb") as file:
            self.service = start([*command, "--max-conversations", str(MAX_CONVERSATIONS)], file)
        address = await address_of(self.service)
        if address is None:
            raise StartError(f"the service did not come up: see {log}")
        self.address = address

    async def _stop(self) -> None:
        if self.service is not None:
            self.stops.append(await asyncio.to_thread(stop, self.service))


def can_mount() -> bool:
    """Whether this process may mount file systems."""
    probe = [*_WITH_SMALL_SHARED_MEMORY, "true"]
    return (
        shutil.which("unshare") is not None and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    )


@contextlib.contextmanager
def _small_file_system(folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
