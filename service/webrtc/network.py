"""Addresses of WebRTC, and the servers that help behind a NAT."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aioice import Candidate
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import get_host_addresses
from aiortc import RTCConfiguration, RTCIceServer

from service.addresses import is_local

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioice import Connection
    from aiortc import RTCIceTransport

LOOPBACK = "127.0.0.1"
_GATHER_SECONDS = 3


@dataclass(frozen=True, slots=True)
class Network:
    """Network of a service.

    Attributes:
        host: address that the service listens on.
        public_address: address by which callers reach it through a NAT; "": its own.
        ice_servers: `stun:HOST:PORT` or `turn:USER:PASSWORD@HOST:PORT`, one of each at most.
    """

    host: str
    public_address: str = ""
    ice_servers: Sequence[str] = field(default=(), repr=False)

    def configuration(self) -> RTCConfiguration:
        """Return aiortc's configuration."""
        return RTCConfiguration(iceServers=[_server(url) for url in self.ice_servers])

    async def gather(self, transport: RTCIceTransport) -> None:
        """Open a transport's ports; aiortc itself leaves the loopback out."""
        connection: Connection = transport.iceGatherer._connection  # noqa: SLF001 - it has no other place for addresses
        connection._local_candidates_start = True  # noqa: SLF001
        candidates = await connection.get_component_candidates(1, self._addresses(), _GATHER_SECONDS)
        if self.public_address:
            candidates += [self._public(one) for one in candidates if one.type == "host"]
        connection._local_candidates = candidates  # noqa: SLF001
        connection._local_candidates_end = True  # noqa: SLF001

    def _addresses(self) -> list[str]:
        host = self.host.strip("[]")
        if is_local(self.host):
            return [host if _is_address(host) else LOOPBACK]
        if _is_address(host) and not ipaddress.ip_address(host).is_unspecified:
            return [host]
        return get_host_addresses(use_ipv4=True, use_ipv6=True)

    def _public(self, own: Candidate) -> Candidate:
        kind = "srflx"
        return Candidate(
            foundation=candidate_foundation(kind, "udp", self.public_address),
            component=own.component,
            transport="udp",
            priority=candidate_priority(own.component, kind),
            host=self.public_address,
            port=own.port,
            type=kind,
            related_address=own.host,
            related_port=own.port,
        )


def _server(url: str) -> RTCIceServer:
    scheme, _, rest = url.partition(":")
    proof, _, address = rest.rpartition("@")
    user, _, password = proof.partition(":")
    return RTCIceServer(f"{scheme}:{address}", user or None, password or None)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
