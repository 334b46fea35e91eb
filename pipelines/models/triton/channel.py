"""Connections of Triton's client."""

from __future__ import annotations

import ipaddress

# A Triton that starts again is found again within half a second; gRPC's own pauses grow to two minutes.
_RECONNECTING: list[tuple[str, int]] = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]


def channel_options(address: str) -> list[tuple[str, int]]:
    """Return gRPC's channel options for Triton; local ones bypass proxies."""
    return [*_RECONNECTING, *([("grpc.enable_http_proxy", 0)] if is_local(address) else [])]


def is_local(address: str) -> bool:
    """Return whether an address is a Unix socket or a loopback address."""
    if address.startswith("unix:"):
        return True
    host, _ = split(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def split(address: str) -> tuple[str, str]:
    """Split ``HOST:PORT``; an IPv6 host loses its brackets."""
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), port
