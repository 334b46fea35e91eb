"""URLs of an agent's fulfilments: which of them may be called."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def fault_of_url(url: str, *, allow_http: bool = False) -> str:
    """Return the fault of a server's URL with the cure; "" for none.

    Args:
        url: absolute.
        allow_http: whether ``http`` is allowed beyond this machine.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "this is no URL: write one such as https://example.com/orders"
    if parts.scheme not in {"http", "https"} or not host or port == 0 or not url.isprintable() or " " in url:
        return "this is no URL: write one such as https://example.com/orders"
    if parts.username is not None or parts.password is not None:
        return "the URL holds a user or password: take it out, and name an environment variable for the secret"
    if parts.fragment:
        return "the URL has a fragment (#), which no server gets: take it out"
    if parts.scheme == "http" and not allow_http and not _is_this_machine(host):
        return "http beyond this machine can be read along: write https, or `allow_http: true` in a network you trust"
    return ""


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
