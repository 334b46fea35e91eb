"""A server far away: whatever goes to it or comes from it takes its time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

import vivavoce

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.clients.fake_service import FakeService

pytestmark = pytest.mark.usefixtures("no_task_left")


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_seconds: float) -> None:
    loop = asyncio.get_running_loop()
    while data := await reader.read(65536):
        loop.call_later(delay_seconds, writer.write, data)


@asynccontextmanager
async def _distance(address: str, delay_seconds: float) -> AsyncIterator[str]:
    """Yields the address of the server at `address` as one that is `delay_seconds` away."""
    host, port = address.split(":")
    relaying: list[asyncio.Task[None]] = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        try:
            await asyncio.gather(_carry(reader, far_writer, delay_seconds), _carry(far_reader, writer, delay_seconds))
        finally:
            for one in (writer, far_writer):
                one.close()
                await one.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relaying.append(asyncio.create_task(relay(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for one in relaying:
            one.cancel()
        await asyncio.gather(*relaying, return_exceptions=True)


async def test_a_server_far_away_is_reached(service: FakeService) -> None:
    async with _distance(service.address, 0.3) as address, vivavoce.connect(address) as client:
        assert (await client.ask("hello")).transcript == "hello"
