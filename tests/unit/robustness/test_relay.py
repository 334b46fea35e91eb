"""The relay of the harness of faults: what it passes, holds back, loses and cuts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import pytest

from tests.robustness.harness.relay import RETRANSMISSION_SECONDS, Relay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while block := await reader.read(1_000):
            writer.write(block)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def relayed(seed: int = 0) -> AsyncIterator[tuple[Relay, asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connects through a relay with a server that sends back what it gets."""
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    relay = Relay(f"{host}:{port}", seed)
    async with server, asyncio.timeout(20), relay.listening() as address:
        reader, writer = await asyncio.open_connection(*address.split(":"))
        yield relay, reader, writer
        writer.close()


async def echoed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, said: bytes = b"hello") -> float:
    """Sends something and waits until all of it is back; returns how long that took."""
    began = time.monotonic()
    writer.write(said)
    assert await reader.readexactly(len(said)) == said
    return time.monotonic() - began


async def test_what_is_said_is_passed_both_ways():
    async with relayed() as (_, reader, writer):
        await echoed(reader, writer, bytes(range(256)) * 1_000)


async def test_nothing_passes_a_black_hole_and_all_of_it_afterwards():
    async with relayed() as (relay, reader, writer):
        relay.weather.is_open.clear()
        writer.write(b"hello")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.1)
        relay.weather.is_open.set()
        assert await reader.readexactly(5) == b"hello"


async def test_a_delay_holds_up_each_way():
    async with relayed() as (relay, reader, writer):
        relay.weather.delay_seconds = 0.05
        assert await echoed(reader, writer) >= 0.1


async def test_what_is_lost_is_sent_again_later():
    async with relayed(seed=3) as (relay, reader, writer):
        relay.weather.loss = 0.5
        assert sum([await echoed(reader, writer) for _ in range(5)]) >= RETRANSMISSION_SECONDS


async def test_a_slow_reader_reads_slowly():
    async with relayed() as (relay, reader, writer):
        relay.weather.bytes_per_second = 1_000.0
        assert await echoed(reader, writer, bytes(100)) >= 0.1


async def test_a_connection_is_cut_once_after_so_many_bytes():
    async with relayed() as (relay, reader, writer):
        relay.weather.cut_after_bytes = 10
        await echoed(reader, writer)
        writer.write(b"hello")
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        assert relay.cuts == 1
        assert relay.weather.cut_after_bytes is None


async def test_all_connections_are_cut_at_once_and_none_is_taken():
    async with relayed() as (relay, reader, writer):
        await echoed(reader, writer)
        relay.weather.is_there = False
        relay.cut()
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
