"""A TCP relay between a caller and the service that breaks the connection on purpose.

Loss of packets shows to the ends of a TCP connection as a stall until they are sent again, and so it is made here.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BLOCK_BYTES = 16_384
RETRANSMISSION_SECONDS = 0.2
"""What Linux waits at least before it sends again what was lost."""


@dataclass(slots=True)
class Weather:
    """How the connections of a relay are; may be changed while they live.

    Attributes:
        delay_seconds: so much later each block arrives.
        loss: share of blocks that are lost once and sent again, 0 to 1.
        bytes_per_second: pace at which answers are passed to the caller; None: as they come.
        cut_after_bytes: sent by the caller, the connection is reset; None: it is not.
        is_open: cleared, nothing passes, and nobody is told.
        is_there: whether connections are taken.
    """

    delay_seconds: float = 0.0
    loss: float = 0.0
    bytes_per_second: float | None = None
    cut_after_bytes: int | None = None
    is_open: asyncio.Event = field(default_factory=asyncio.Event)
    is_there: bool = True

    def __post_init__(self) -> None:
        """Begins with fair weather."""
        self.is_open.set()


class Relay:
    """Passes connections on to one address.

    Args:
        target: ``host:port``.
        seed: of what is lost.

    Attributes:
        weather: how they are.
        cuts: how many were cut.
    """

    def __init__(self, target: str, seed: int = 0) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._chance = random.Random(seed)
        self._connections: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.weather = Weather()
        self.cuts = 0

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Listens on a port of the kernel's choice while the body runs; yields the address."""
        server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        try:
            host, port = server.sockets[0].getsockname()
            yield f"{host}:{port}"
        finally:
            server.close()
            self.cut()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Resets all connections."""
        for writer in self._connections:
            writer.transport.abort()
            self.cuts += 1
        self._connections.clear()

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer), name="relay")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.weather.is_there:
            writer.transport.abort()
            return
        try:
            behind = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        pair = {writer, behind[1]}
        self._connections |= pair
        try:
            await self._pass_both_ways((reader, writer), behind)
        except OSError:
            pass  # One end has gone; the other learns it from the end of its connection.
        finally:
            for one in pair:
                one.transport.abort()
            self._connections -= pair

    async def _pass_both_ways(
        self,
        caller: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        service: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        ways = {
            asyncio.create_task(self._pass(caller[0], service[1], to_caller=False)),
            asyncio.create_task(self._pass(service[0], caller[1], to_caller=True)),
        }
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        for way in done:
            way.result()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to_caller: bool) -> None:
        passed = 0
        while block := await reader.read(BLOCK_BYTES):
            weather = self.weather
            stall = weather.delay_seconds
            while self._chance.random() < weather.loss:
                stall += RETRANSMISSION_SECONDS
            if to_caller and weather.bytes_per_second is not None:
                stall += len(block) / weather.bytes_per_second
            if stall:
                await asyncio.sleep(stall)
            await weather.is_open.wait()
            writer.write(block)
            await writer.drain()
            passed += len(block)
            if not to_caller and weather.cut_after_bytes is not None and passed >= weather.cut_after_bytes:
                weather.cut_after_bytes = None
                self.cuts += 1
                return
