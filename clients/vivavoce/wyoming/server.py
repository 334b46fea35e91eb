"""Listens for Wyoming's clients."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from wyoming.event import async_write_event

from vivavoce._tasks import TaskScope
from vivavoce._timeout import timeout
from vivavoce.wyoming.connection import Connection, Settings
from vivavoce.wyoming.errors import RefusedError, error_event
from vivavoce.wyoming.reading import BoundedReader, read_event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from wyoming.event import Eventable

    import vivavoce

MAX_CLIENTS = 64
SEND_SECONDS = 30.0
"""Time in which a client must have read what it was sent."""

_log = logging.getLogger(__name__)


def parse_uri(uri: str) -> tuple[str, int] | Path:
    """Read `tcp://HOST:PORT` or `unix://PATH`.

    Raises:
        ValueError: It is neither; the text says what to write.
    """
    parts = urlsplit(uri)
    if parts.scheme == "unix" and parts.path and not parts.netloc:
        return Path(parts.path)
    with suppress(ValueError):
        if parts.scheme == "tcp" and parts.hostname and parts.port is not None:
            return parts.hostname, parts.port
    raise ValueError(f"{uri!r} is no address to listen on; write tcp://HOST:PORT or unix:///PATH.")


class WyomingServer:
    """Answers Wyoming's clients with what one service understands.

    Args:
        client: The service, connected.
        settings: What holds for all clients.
    """

    def __init__(self, client: vivavoce.Client, settings: Settings | None = None) -> None:
        self._client = client
        self._settings = settings or Settings()
        self._connected: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self, where: tuple[str, int] | Path) -> AsyncIterator[str]:
        """Listen until the body ends; then all clients are let go.

        Args:
            where: Host and port, of which 0 lets the system choose, or the path of a Unix socket.

        Yields:
            The address, as a URI.

        Raises:
            OSError: Nobody can listen there.
        """
        loop = asyncio.get_running_loop()
        if isinstance(where, Path):
            server = await loop.create_unix_server(self._protocol, where)
            uri = f"unix://{where}"
        else:
            server = await loop.create_server(self._protocol, *where)
            host = f"[{where[0]}]" if ":" in where[0] else where[0]
            uri = f"tcp://{host}:{server.sockets[0].getsockname()[1]}"
        try:
            yield uri
        finally:
            server.close()
            await self._let_go()
            await server.wait_closed()
            _clean_up(where)

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(BoundedReader(), self._serve_client)

    async def _let_go(self) -> None:
        for task in self._connected:
            task.cancel()
        await asyncio.gather(*self._connected, return_exceptions=True)

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connected.add(task)
        try:
            await self._converse(reader, writer)
        except (OSError, EOFError) as error:
            _log.info("A client is gone: %s", type(error).__name__)
        finally:
            self._connected.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client until it leaves, sends nonsense or waits in vain."""

        async def send(event: Eventable) -> None:
            async with timeout(SEND_SECONDS):
                await async_write_event(event.event(), writer)

        try:
            self._check_room()
            async with TaskScope() as tasks:
                connection = Connection(self._client, self._settings, send, tasks)
                try:
                    while not connection.ended and (event := await read_event(reader)) is not None:
                        await connection.handle(event)
                finally:
                    connection.abandon()
        except RefusedError as error:
            await send(error_event(error))

    def _check_room(self) -> None:
        if len(self._connected) > MAX_CLIENTS:
            raise RefusedError("too-many-clients", f"{MAX_CLIENTS} clients are connected; try again later.")


def _clean_up(where: tuple[str, int] | Path) -> None:
    if isinstance(where, Path):
        where.unlink(missing_ok=True)
