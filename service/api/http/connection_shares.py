"""Shares of the HTTP port's connections, so that one peer cannot take them all."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

MAX_WAITING_OF_PEER = 256
"""Connections of one peer on which no request is under way, whether it has begun to come or not."""
_IPV6_PREFIX = 64


class ConnectionShares:
    """Admits connections within a limit, half of which one peer may have.

    A newcomer never waits for silent connections: where there is no room, the one of its own peer that has waited
    longest for a request is closed.

    Args:
        limit: connections at a time.
        waiting_of_peer: connections of one peer that may wait for a request.
    """

    def __init__(self, limit: int, waiting_of_peer: int = MAX_WAITING_OF_PEER) -> None:
        self._limit, self._share = limit, max(1, limit // 2)
        self._waiting_of_peer = waiting_of_peer
        self._peers: dict[asyncio.Transport, str] = {}
        self._counts: dict[str, int] = {}
        # In the order in which they began to wait.
        self._waiting: dict[str, dict[asyncio.Transport, None]] = {}

    def admit(self, transport: asyncio.Transport) -> bool:
        """Take in a connection that waits for a request; return whether it fits."""
        peer = _peer(transport)
        is_full = len(self._peers) >= self._limit or self._counts.get(peer, 0) >= self._share
        if is_full and not self._close_one(peer):
            return False
        self._peers[transport] = peer
        self._counts[peer] = self._counts.get(peer, 0) + 1
        self.wait(transport)
        return True

    def wait(self, transport: asyncio.Transport) -> None:
        """Say that a connection waits for a request."""
        peer = self._peers.get(transport)
        if peer is None:
            return
        waiting = self._waiting.setdefault(peer, {})
        waiting[transport] = None
        if len(waiting) > self._waiting_of_peer:
            self._close_one(peer)

    def serve(self, transport: asyncio.Transport) -> None:
        """Say that a request of a connection is under way."""
        peer = self._peers.get(transport)
        waiting = None if peer is None else self._waiting.get(peer)
        if waiting is None or peer is None:
            return
        waiting.pop(transport, None)
        if not waiting:
            del self._waiting[peer]

    def leave(self, transport: asyncio.Transport) -> None:
        """Say that a connection has ended."""
        self.serve(transport)
        peer = self._peers.pop(transport, None)
        if peer is None:
            return
        self._counts[peer] -= 1
        if not self._counts[peer]:
            del self._counts[peer]

    def _close_one(self, peer: str) -> bool:
        """Close the longest waiting connection of a peer; return whether there was one."""
        waiting = self._waiting.get(peer)
        if not waiting:
            return False
        oldest = next(iter(waiting))
        self.leave(oldest)
        oldest.abort()
        return True


def _peer(transport: asyncio.Transport) -> str:
    """Return the address of a peer; of IPv6 its network."""
    name = transport.get_extra_info("peername")
    host = str(name[0]).partition("%")[0] if isinstance(name, tuple) else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((host, _IPV6_PREFIX), strict=False))
