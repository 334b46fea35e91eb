"""Connections to the HTTP port that mean no good."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import aiohttp

from service.api.http import caller_check, connections
from service.security.authentication import Authenticator
from tests.unit.service.http.port import ROUTES, OneToken
from tests.unit.service.http.running import client, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from service.api.http.server import HttpServer


async def test_the_body_of_a_request_that_has_none_is_not_read_for_ever():
    async with running(ROUTES) as server:
        head = b"GET /whoami HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer = await raw(server, head, then=b"5\r\nhello\r\n" * 1_000)
        assert answer.count(b"200 OK") == 1
        assert b"connection: close" in answer.lower()


async def test_whoever_is_refused_reads_why_although_his_upload_goes_on():
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(65_536)
            await asyncio.sleep(0.01)

    async with (
        running(ROUTES, Authenticator(OneToken())) as server,
        client(server) as session,
        session.post("/count", data=endless()) as response,
    ):
        assert response.status == 401
        assert (await response.json(content_type=None))["reason"] == "UNAUTHENTICATED"


async def test_an_upload_of_which_nothing_comes_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(caller_check, "READ_SECONDS", 0.1)
    async with running(ROUTES) as server:
        status = await raw(server, b"POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
        assert b" 408 " in status


async def test_a_drip_of_an_upload_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(caller_check, "_GRACE_SECONDS", 0.2)

    async def drips() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x"
            await asyncio.sleep(0.02)

    async with running(ROUTES) as server, client(server) as session, session.post("/count", data=drips()) as response:
        assert response.status == 408


async def test_headers_that_never_end_are_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.1)
    async with running(ROUTES) as server:
        for beginning in (b"G", b"GET /whoami HTTP/1.1\r\nHost: x\r\n"):
            assert await raw(server, beginning) == b""
        # So are those of a second request on a connection.
        whole = b"GET /whoami HTTP/1.1\r\nHost: x\r\n\r\n"
        assert (await raw(server, whole, then=b"GET /who")).count(b"200 OK") == 1


async def test_headers_have_a_bound():
    async with running(ROUTES) as server:
        answer = await raw(server, b"GET /whoami HTTP/1.1\r\nX: " + b"x" * 40_000)
        assert b" 400 " in answer
        assert b" 400 " in await raw(server, b"\x16\x03\x01\x02\x00 no HTTP\r\n\r\n")


async def test_so_many_connections_and_no_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("service.api.http.server.MAX_CONNECTIONS", 2)
    async with running(ROUTES) as server:
        held = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        for _, writer in held:
            writer.write(b"G")
        await asyncio.sleep(0.05)
        assert await raw(server, b"GET /whoami HTTP/1.1\r\nHost: x\r\n\r\n") == b""
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.05)
        assert b"200 OK" in await raw(server, b"GET /whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")


async def test_a_storm_of_pings_ends_the_websocket_and_hurts_nobody_else():
    async with (
        running(ROUTES) as server,
        client(server) as session,
        session.ws_connect("/echo") as quiet,
        session.ws_connect("/echo", autoping=False) as websocket,
    ):
        for _ in range(connections.MAX_PINGS):
            await websocket.ping()
        await websocket.send_str("still here")
        messages = [await websocket.receive() for _ in range(connections.MAX_PINGS + 1)]
        assert messages[-1].data == "anonymous:still here"
        for _ in range(2):
            await websocket.ping()
        while (message := await websocket.receive()).type is aiohttp.WSMsgType.PONG:
            pass
        assert message.data == 1008
        await quiet.send_str("hello")
        assert await quiet.receive_str() == "anonymous:hello"


async def test_a_message_of_a_websocket_has_a_bound():
    async with running(ROUTES) as server, client(server) as session:
        async with session.ws_connect("/echo") as websocket:
            await websocket.send_str("x" * (16 << 20))
            assert (await websocket.receive()).data == 1009
        async with session.ws_connect("/echo") as websocket:
            for at in range(connections.MAX_FRAGMENTS + 1):
                opcode = aiohttp.WSMsgType.TEXT if at == 0 else aiohttp.WSMsgType.CONTINUATION
                await send_fragment(websocket, opcode)
            assert (await websocket.receive()).data == 1009


async def test_garbage_in_place_of_frames_ends_the_websocket(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connections, "LINGER_SECONDS", 0.1)
    handshake = (
        b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with caplog.at_level(logging.DEBUG):
        async with running(ROUTES) as server:
            assert b" 101 " in await raw(server, handshake, then=b"\xff" * 100)
            # Text that is no UTF-8, masked with noughts.
            assert b" 101 " in await raw(server, handshake, then=b"\x81\x82\x00\x00\x00\x00\xff\xfe")
            assert b" 405 " in await raw(server, handshake.replace(b"GET", b"POST"))
    assert "Traceback" not in caplog.text


async def raw(server: HttpServer, data: bytes, then: bytes | None = None) -> bytes:
    """Sends bytes, and more after the answer; returns what came until the connection was closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    found = b""
    try:
        async with asyncio.timeout(10):
            writer.write(data)
            if then is not None:
                found = await reader.read(65_536)
                writer.write(then)
            while piece := await reader.read(65_536):
                found += piece
    except ConnectionError:
        pass
    finally:
        writer.close()
    return found


async def send_fragment(websocket: aiohttp.ClientWebSocketResponse, opcode: aiohttp.WSMsgType) -> None:
    """Sends an empty frame that is not the last of its message."""
    transport = websocket._writer.transport
    transport.write(bytes([opcode.value, 0x80, 0, 0, 0, 0]))
    await asyncio.sleep(0)
