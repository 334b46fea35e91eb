"""Addresses that a service listens on, or connects to."""

from __future__ import annotations

import ipaddress
import re

LAST_PORT = 65_535


class ListenError(OSError):
    """It cannot be listened on an address."""


class AddressInUseError(ListenError):
    """The address to listen on is taken."""


def is_address(text: str) -> bool:
    """Return whether a text is ``HOST:PORT`` or ``unix:/PATH``."""
    if re.fullmatch(r"unix:/\S+", text):
        return True
    found = re.fullmatch(r"(\[[^\s\]]+\]|[^\s:]+|\S+/\S+):(\d{1,5})", text)
    return found is not None and int(found[2]) <= LAST_PORT


def names_a_machine(host: str) -> bool:
    """Return whether a call's host is an address or ``localhost``: no other name.

    Args:
        host: as in a ``Host`` header, with a port or without one; "" where there is none, as in programs' calls.
    """
    name = host.strip().lower()
    name = name.partition("]")[0].lstrip("[") if name.startswith("[") else name.rpartition(":")[0] or name
    if name in {"", "localhost"}:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_local(host: str) -> bool:
    """Return whether only this machine reaches a listening address."""
    if host.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
