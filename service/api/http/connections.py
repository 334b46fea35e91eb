"""Connections of the HTTP port: uvicorn's protocols with tighter bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from service.admission.memory_shares import PENDING
from service.refusals import TooMuchMemoryError

if TYPE_CHECKING:
    import asyncio

    from uvicorn._types import ASGISendEvent
    from uvicorn.config import Config
    from uvicorn.server import ServerState
    from websockets.frames import Frame

    from service.api.http.connection_shares import ConnectionShares

HEADER_SECONDS = 10.0
"""A connection on which no request comes, or not to the end of its headers, is closed after so long; so is a WebSocket
that is not open by then."""
KEEP_ALIVE_SECONDS = 75
"""Between two requests of a connection: longer than the 60 s of common proxies, which reuse connections."""
MAX_HEADER_BYTES = 16 << 10
MAX_MESSAGE_BYTES = 4 << 20
"""Of one message of a WebSocket; a longer one ends the connection (1009)."""
MAX_FRAGMENTS = 256
"""Frames of one message."""
MAX_PINGS = 20
PING_SECONDS = 10.0
"""Within so long a caller may send :data:`MAX_PINGS` pings and pongs; more end the connection (1008)."""
LINGER_SECONDS = 2.0

_BAD_HANDSHAKE = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Content-Length: 66\r\n\r\nThe handshake of the WebSocket is too long, or announces a body.\r\n"
)
_POLICY_VIOLATION = 1008
_TOO_BIG = 1009
_TRY_AGAIN = 1013


class _StrictConnection(h11.Connection):
    """Check of headers: their total length, and one unambiguous body length."""

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """See h11."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            # h11 bounds what has come of headers that are not whole, and no others.
            if sum(len(name) + len(value) for name, value in event.headers) > MAX_HEADER_BYTES:
                raise h11.RemoteProtocolError("the headers are too long", error_status_hint=431)
            if {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
                # A proxy may go by the other one, and take the rest for a request of somebody else (RFC 9112, 6.1).
                raise h11.RemoteProtocolError("there are Content-Length and Transfer-Encoding")
        return event


class HttpConnection(H11Protocol):
    """HTTP connection; a request may make it a :class:`WebSocketConnection`.

    The application finds the name in the caller's certificate in ``scope["state"]["certificate_name"]``.
    """

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any], shares: ConnectionShares
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.conn = _StrictConnection(h11.SERVER, MAX_HEADER_BYTES)
        self._shares = shares
        self._header_timer: asyncio.TimerHandle | None = None
        self._upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio; closes what is too much."""
        super().connection_made(transport)
        if not self._shares.admit(transport):
            transport.abort()
            return
        certificate = transport.get_extra_info("peercert")
        self.app_state = {**self.app_state, "certificate_name": _certificate_name(certificate)}
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._stop_timer()
        self._shares.leave(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        super().data_received(data)
        if self._upgraded or self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
            self._stop_timer()
            self._shares.serve(self.transport)
        elif self._header_timer is None:
            # A request has begun, and its headers are not whole.
            self._await_headers()

    def on_response_complete(self) -> None:
        """See uvicorn."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self._shares.wait(self.transport)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """See uvicorn."""
        self._upgraded = True
        super().handle_websocket_upgrade(event)
        websocket = self.transport.get_protocol()
        if isinstance(websocket, WebSocketConnection):
            websocket.await_opening(self._shares)

    def send_400_response(self, msg: str) -> None:
        """See uvicorn; after the beginning of a response the connection is closed."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()
        if self.cycle is not None and not self.cycle.response_complete:
            # The application would answer the same request once more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _await_headers(self) -> None:
        self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


class WebSocketConnection(WebSocketsSansIOProtocol):
    """One WebSocket."""

    _pings = 0
    _counted_from = 0.0
    _lingers = False
    _opening: asyncio.TimerHandle | None = None
    _shares: ConnectionShares | None = None

    def await_opening(self, shares: ConnectionShares) -> None:
        """Answer an unreadable handshake, and bound the time until it is complete.

        Args:
            shares: has the connection's place.
        """
        self._shares = shares
        if not self.handshake_initiated:
            self.transport.write(_BAD_HANDSHAKE)
            self.transport.close()
            return
        self._opening = self.loop.call_later(HEADER_SECONDS, self._end_opening)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        if self._opening is not None:
            self._opening.cancel()
        if self._shares is not None:
            self._shares.leave(self.transport)
        PENDING.release(self)
        # The connection refers to itself, so that Python may keep it for a while: not with what has come in part.
        self.frames.clear()
        self.conn.reader.buffer.clear()
        super().connection_lost(exc)

    def _end_opening(self) -> None:
        if not self.handshake_complete:
            self.transport.abort()

    async def send(self, message: ASGISendEvent) -> None:
        """See uvicorn; a message to a connection that we closed is no error."""
        await self.writable.wait()
        if self.close_sent and self.handshake_complete:
            raise ClientDisconnected
        await super().send(message)

    def handle_ping(self) -> None:
        """See uvicorn."""
        if self._is_storm():
            return
        super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """See uvicorn."""
        if event.data != self.pending_ping_payload and self._is_storm():
            return
        super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        """See uvicorn."""
        if len(self.frames) >= MAX_FRAGMENTS:
            self._end(_TOO_BIG, "a message has too many fragments")
            return
        super().handle_cont(event)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self._lingers:
            return
        super().data_received(data)
        pending = len(self.conn.reader.buffer) + sum(map(len, self.frames))
        try:
            PENDING.hold(self, self.client[0] if self.client else "", pending)
        except TooMuchMemoryError as error:
            self._end(_TRY_AGAIN, error.reason)

    def handle_parser_exception(self) -> None:
        """See uvicorn; an unreadable handshake gets no answer."""
        closed = self.conn.close_sent
        self._say_goodbye(1006 if closed is None else closed.code, "" if closed is None else closed.reason)

    def _is_storm(self) -> bool:
        now = self.loop.time()
        if now > self._counted_from + PING_SECONDS:
            self._counted_from, self._pings = now, 0
        self._pings += 1
        if self._pings > MAX_PINGS:
            self._end(_POLICY_VIOLATION, "too many pings")
            return True
        return False

    def _end(self, code: int, reason: str) -> None:
        self.conn.fail(code, reason)
        self._say_goodbye(code, reason)

    def _say_goodbye(self, code: int, reason: str) -> None:
        """Send the rest and read on: closing upon unread bytes would lose it."""
        if self.close_sent or self.transport.is_closing():
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = self._lingers = True
        # uvicorn leaves the transport open while there is such a timer.
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()


def _certificate_name(certificate: dict[str, Any] | None) -> str | None:
    """Return the first subject alternative name, or the common name; None without."""
    if not certificate:
        return None
    names = [value for _, value in certificate.get("subjectAltName", ())]
    subject = (pair for relative in certificate.get("subject", ()) for pair in relative)
    names += [value for key, value in subject if key == "commonName"]
    return next((str(name) for name in names if name), "a certificate without a name")
