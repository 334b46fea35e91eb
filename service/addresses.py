"""Addresses that a service listens on, or connects to."""

from __future__ import annotations

import ipaddress
import re

LAST_PORT = 65_535


def is_address(text: str) -> bool:
    """Whether a text is ``HOST:PORT`` or ``unix:/PATH``."""
    if re.fullmatch(r"unix:/\S+", text):
        return True
    found = re.fullmatch(r"(\[[^\s\]]+\]|[^\s:]+|\S+/\S+):(\d{1,5})", text)
    return found is not None and int(found[2]) <= LAST_PORT


def is_local(host: str) -> bool:
    """Whether only this machine reaches an address to listen on."""
    if host.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
