"""HTTP/2 by hand, as no library would send it; for tests against a server on loopback."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS = 1
_DATA, _RST_STREAM, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 3, 4, 6, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_CANCEL = 8
_DEFAULT_WINDOW = 65_535
_MAX_FRAME = 16_384


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Returns one HTTP/2 frame."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def message_prefix(length: int, *, compressed: bool = False) -> bytes:
    """Returns the five bytes before a gRPC message, which claim that it has ``length`` bytes."""
    return struct.pack(">BI", compressed, length)


def _literal(text: str) -> bytes:
    data = text.encode()
    assert len(data) < 127
    return bytes([len(data)]) + data


def request_headers(method: str, **more: str) -> bytes:
    """Returns the headers of a call, each as a literal that no table keeps (RFC 7541, 6.2.2)."""
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return b"".join(b"\x00" + _literal(name) + _literal(value) for name, value in headers.items())


@dataclass
class Attacker:
    """One TCP connection that speaks HTTP/2, and answers what a server insists on."""

    connection: socket.socket
    window: int = _DEFAULT_WINDOW
    initial_window: int = _DEFAULT_WINDOW
    windows: dict[int, int] = field(default_factory=dict)
    closed: bool = False
    _received: bytes = b""
    _next_stream: int = 1
    _to_reset: list[int] = field(default_factory=list)

    @classmethod
    def connected(cls, address: str, timeout_seconds: float = 5.0) -> Attacker:
        """Connects to ``HOST:PORT`` and opens HTTP/2."""
        attacker = cls(silent_connection(address, timeout_seconds))
        attacker.connection.sendall(_PREFACE + frame(_SETTINGS, 0, 0))
        return attacker

    def close(self) -> None:
        """Goes without a word."""
        self.connection.close()

    def open_call(self, method: str, *, ends: bool = False, **headers: str) -> int:
        """Opens a stream; returns its number."""
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        flags = _END_HEADERS | (_END_STREAM if ends else 0)
        self.connection.sendall(frame(HEADERS, flags, stream, request_headers(method, **headers)))
        self.windows[stream] = self.initial_window
        return stream

    def open_and_reset(self, method: str, count: int) -> None:
        """Opens streams and cancels each: half of them in the same breath, the others with the next call of this."""
        headers, reset = request_headers(method), struct.pack(">I", _CANCEL)
        burst = b"".join(frame(_RST_STREAM, 0, stream, reset) for stream in self._to_reset)
        self._to_reset = []
        for number in range(count):
            stream, self._next_stream = self._next_stream, self._next_stream + 2
            burst += frame(HEADERS, _END_HEADERS, stream, headers)
            if number % 2:
                burst += frame(_RST_STREAM, 0, stream, reset)
            else:
                self._to_reset.append(stream)
        self.connection.sendall(burst)

    def send(self, stream: int, data: bytes, *, ends: bool = False, patience_seconds: float = 2.0) -> int:
        """Sends as much of ``data`` as the server makes room for; returns how much that was."""
        sent = 0
        deadline = time.monotonic() + patience_seconds
        while sent < len(data) and not self.closed:
            self.read(0.0)
            room = min(self.window, self.windows[stream], _MAX_FRAME, len(data) - sent)
            if room <= 0:
                if time.monotonic() > deadline:
                    break
                self.read(0.05)
                continue
            last = ends and sent + room == len(data)
            try:
                self.connection.sendall(frame(_DATA, _END_STREAM if last else 0, stream, data[sent : sent + room]))
            except OSError:
                self.closed = True
                break
            sent += room
            self.window -= room
            self.windows[stream] -= room
            deadline = time.monotonic() + patience_seconds
        return sent

    def read(self, seconds: float) -> list[tuple[int, int, int, bytes]]:
        """Reads what comes within ``seconds``, acknowledges settings and pings, and returns the frames."""
        frames: list[tuple[int, int, int, bytes]] = []
        deadline = time.monotonic() + seconds
        while not self.closed:
            self.connection.settimeout(max(0.0, deadline - time.monotonic()))
            try:
                data = self.connection.recv(1 << 16)
            except (TimeoutError, BlockingIOError):
                break
            except OSError:
                data = b""
            if not data:
                self.closed = True
                break
            self._received += data
            frames += self._take_in()
            if time.monotonic() >= deadline:
                break
        if not self.closed:
            self.connection.settimeout(5.0)
        return frames

    def _take_in(self) -> Iterator[tuple[int, int, int, bytes]]:
        while len(self._received) >= 9:
            length = int.from_bytes(self._received[:3], "big")
            if len(self._received) < 9 + length:
                return
            kind, flags, stream = struct.unpack(">BBI", self._received[3:9])
            payload, self._received = self._received[9 : 9 + length], self._received[9 + length :]
            self._answer(kind, flags, stream, payload)
            yield kind, flags, stream, payload

    def _answer(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        with contextlib.suppress(OSError):
            if kind == _SETTINGS and not flags & _ACK:
                self._take_settings(payload)
                self.connection.sendall(frame(_SETTINGS, _ACK, 0))
            elif kind == _PING and not flags & _ACK:
                self.connection.sendall(frame(_PING, _ACK, 0, payload))
        if kind == _WINDOW_UPDATE:
            increment = int.from_bytes(payload, "big")
            if stream:
                self.windows[stream] = self.windows.get(stream, 0) + increment
            else:
                self.window += increment

    def _take_settings(self, payload: bytes) -> None:
        for at in range(0, len(payload), 6):
            name, value = struct.unpack(">HI", payload[at : at + 6])
            if name == 4:
                change, self.initial_window = value - self.initial_window, value
                for stream in self.windows:
                    self.windows[stream] += change


def silent_connection(address: str, timeout_seconds: float = 5.0) -> socket.socket:
    """Opens a TCP connection to ``HOST:PORT``, over which nothing is said."""
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)), timeout_seconds)
