"""Connections to the HTTP port that mean no good."""

from __future__ import annotations

import asyncio
import io
import logging
from typing import TYPE_CHECKING

import aiohttp
import pytest
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute

from service.admission.memory_shares import FREE_BYTES, MemoryShares
from service.api.http import caller_check, connection_shares, connections, json_reading
from service.refusals import TooMuchMemoryError
from service.security.authentication import Authenticator
from tests.unit.service.http.port import ROUTES, OneToken
from tests.unit.service.http.running import client, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

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


async def test_a_newcomer_takes_the_place_of_the_connection_that_has_waited_longest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("service.api.http.server.MAX_CONNECTIONS", 4)
    async with running(ROUTES) as server, client(server) as session:
        slow = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        for _, writer in slow:
            writer.write(b"G")
        await asyncio.sleep(0.05)
        async with session.ws_connect("/echo"):
            assert await slow[0][0].read() == b""
            assert b"200 OK" in await raw(server, b"GET /whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert await slow[1][0].read() == b""
            async with session.ws_connect("/echo"):
                # Nobody who is served is sent away.
                assert await raw(server, b"GET /whoami HTTP/1.1\r\nHost: x\r\n\r\n") == b""
        for _, writer in slow:
            writer.close()


class Transport:
    """A connection of a peer, as far as its share goes."""

    def __init__(self, *peer: object) -> None:
        self.peer, self.aborted = peer, False

    def get_extra_info(self, _: str) -> tuple[object, ...]:
        return self.peer

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.parametrize(
    ("peers", "others"),
    [
        (["10.0.0.1"], "10.0.0.2"),
        (["::ffff:10.0.0.1", "10.0.0.1"], "::ffff:10.0.0.2"),
        ([f"2001:db8::{number}" for number in range(1, 9)], "2001:db8:0:1::1"),
    ],
)
@pytest.mark.parametrize("served", [False, True])
def test_a_peer_has_half_of_the_connections_and_silent_ones_make_room(peers: list[str], others: str, served: bool):
    shares = connection_shares.ConnectionShares(8, waiting_of_peer=3)
    taken = [Transport(peers[at % len(peers)], 1_000 + at) for at in range(20)]
    admitted = []
    for transport in taken:
        admitted.append(shares.admit(transport))
        if served:
            shares.serve(transport)
    assert sum(admitted) == (4 if served else 20)
    assert sum(transport.aborted for transport in taken) == (0 if served else 17)
    assert shares.admit(Transport(others, 1))
    for transport in taken:
        shares.leave(transport)
    assert all(shares.admit(Transport(peers[0], at)) for at in range(4))


HANDSHAKE = (
    b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


@pytest.mark.parametrize("sizes", [[20_000] * 100, [90_000] * 20, [5_000_000], [16_384] * 1_000])
def test_what_has_come_in_part_is_bounded_and_small_requests_are_free(sizes: list[int]):
    pending = MemoryShares(200_000)
    refused = 0
    for key, size in enumerate(sizes):
        for part in (size // 2, size):
            try:
                pending.hold(key, "10.0.0.1", part)
            except TooMuchMemoryError:
                refused += 1
                break
    assert (refused > 0) == (sizes[0] > FREE_BYTES)
    assert pending._total <= 100_000
    pending.hold("other", "10.0.0.2", FREE_BYTES + 100_000)
    pending.release("other")
    for key in range(len(sizes)):
        pending.release(key)
    assert (pending._total, pending._held, pending._of_callers) == (0, {}, {})


async def test_messages_that_are_never_whole_take_a_bounded_memory(monkeypatch: pytest.MonkeyPatch):
    pending = MemoryShares(1 << 20)
    monkeypatch.setattr(connections, "PENDING", pending)
    monkeypatch.setattr(json_reading, "PENDING", pending)

    async def ask(request: Request) -> Response:
        return JSONResponse(len(await json_reading.whole_body(request, 4 << 20)))

    async with running([*ROUTES, Route("/ask", ask, methods=["POST"])]) as server, client(server) as session:
        held = []
        for _ in range(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(HANDSHAKE)
            await reader.readuntil(b"\r\n\r\n")
            # A frame of 4 MB, of which a part comes.
            writer.write(b"\x81\xff" + (4_000_000).to_bytes(8, "big") + bytes(4) + b"x" * 200_000)
            held.append((reader, writer))
        await asyncio.sleep(0.1)
        assert 2 <= sum(not reader.at_eof() and not reader._buffer for reader, _ in held) < 5
        body = io.BytesIO(b"x" * 600_000)
        async with session.post("/ask", data=body) as response:
            assert response.status == 429
            assert (await response.json(content_type=None))["reason"] == "TOO_MUCH_MEMORY"
        async with session.post("/ask", data=b"x" * 10_000) as response:
            assert await response.json() == 10_000
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.1)
        body = io.BytesIO(b"x" * 500_000)
        async with session.post("/ask", data=body) as response:
            assert await response.json() == 500_000
    assert pending._total == 0


@pytest.mark.parametrize("path", [b"/echo", b"/nothing"])
@pytest.mark.parametrize(
    "header",
    [
        b"X-A: " + b"a" * 9_000,
        b"Content-Length: 5",
        b"Content-Length: x",
        b"Transfer-Encoding: chunked",
        b"\r\n".join(b"X-%d: a" % number for number in range(200)),
        b"X-A: " + b"a" * 60_000,
    ],
)
async def test_a_handshake_that_cannot_be_read_is_answered_and_closed(path: bytes, header: bytes):
    async with running(ROUTES) as server:
        data = HANDSHAKE.replace(b"/echo", path).replace(b"\r\n\r\n", b"\r\n" + header + b"\r\n\r\n")
        answer = await raw(server, data)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert not server._state.connections


async def test_a_websocket_that_is_never_opened_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.1)

    async def ponder(websocket: WebSocket) -> None:
        await websocket.receive()
        await websocket.receive()

    async with running([WebSocketRoute("/echo", ponder)]) as server:
        assert await raw(server, HANDSHAKE) == b""


@pytest.mark.parametrize(
    "headers",
    [
        b"X: " + b"x" * 60_000,
        b"\r\n".join(b"X-%d: %s" % (number, b"x" * 1_000) for number in range(60)),
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
    ],
)
async def test_headers_that_are_too_long_or_tell_two_lengths_are_refused(headers: bytes):
    async with running(ROUTES) as server:
        answer = await raw(server, b"POST /count HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n\r\n0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 ")


async def test_what_is_still_written_to_a_websocket_that_ends_is_no_mistake(caplog: pytest.LogCaptureFixture):
    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        while True:
            await websocket.send_text("still here")
            await asyncio.sleep(0)

    async with running([WebSocketRoute("/echo", talk)]) as server:
        assert b" 101 " in await raw(server, HANDSHAKE, then=b"\xff" * 100)
        await asyncio.sleep(0.05)
    assert not caplog.records


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
    with caplog.at_level(logging.DEBUG):
        async with running(ROUTES) as server:
            assert b" 101 " in await raw(server, HANDSHAKE, then=b"\xff" * 100)
            # Text that is no UTF-8, masked with noughts.
            assert b" 101 " in await raw(server, HANDSHAKE, then=b"\x81\x82\x00\x00\x00\x00\xff\xfe")
            assert b" 405 " in await raw(server, HANDSHAKE.replace(b"GET", b"POST"))
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
