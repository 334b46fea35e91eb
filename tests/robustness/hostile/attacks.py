"""Hostile clients, by hand: HTTP/2 as no library would send it. For a server on loopback only.

``python -m tests.robustness.hostile.attacks HOST:PORT ATTACK SECONDS`` runs one of :data:`ATTACKS` for so long, in
a process of its own so that it takes no time from callers that are measured. It prints ``attacking`` when everything
is in place, and at the end one JSON object that tells what it did.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import sys
import time
from typing import TYPE_CHECKING

from tests.robustness.hostile.raw_http2 import Attacker, message_prefix, silent_connection

if TYPE_CHECKING:
    from collections.abc import Callable

CONVERSE = "/vivavoce.v1.ConversationService/Converse"
ASK = "/vivavoce.v1.ConversationService/Ask"
RECOGNIZE = "/nvidia.riva.asr.RivaSpeechRecognition/Recognize"
STREAMING_RECOGNIZE = "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize"


def silent_streams(address: str, seconds: float, count: int = 80) -> dict[str, int]:
    """Opens streams of both APIs on which nothing is ever sent."""
    attackers = [Attacker.connected(address) for _ in range(4)]
    for number in range(count):
        attackers[number % 4].open_call((CONVERSE, STREAMING_RECOGNIZE)[number % 2])
    _begun()
    _hold(attackers, seconds)
    return {"streams": count}


def rapid_resets(
    address: str, seconds: float, per_second: int = 2_000, connections: int = 4, burst: int = 1_000
) -> dict[str, int]:
    """Opens streams and cancels each at once, so many a second, in bursts."""
    methods = (CONVERSE, ASK, STREAMING_RECOGNIZE)
    attackers = [Attacker.connected(address) for _ in range(connections)]
    _begun()
    began, sent, refused = time.monotonic(), 0, 0
    while (passed := time.monotonic() - began) < seconds:
        while sent < passed * per_second:
            number = (sent // burst) % connections
            try:
                attackers[number].open_and_reset(methods[sent // burst % 3], burst)
                attackers[number].read(0.0)
            except OSError:
                attackers[number].closed = True
            if attackers[number].closed:
                refused += 1
                attackers[number].close()
                attackers[number] = Attacker.connected(address)
            sent += burst
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
