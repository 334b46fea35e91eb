"""Addresses of servers."""

from __future__ import annotations

import ipaddress
import os
import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from vivavoce._errors import AccessDenied, InvalidRequest, ServerUnavailable

UNIX = "unix:"

_SCHEME = re.compile(r"(dns|ipv4|ipv6|passthrough):(//[^/]*/)?/*")


def is_local(target: str) -> bool:
    """Return whether a gRPC target is a Unix socket or a loopback address."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    host, _ = _split(target)
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def admin_target(target: str) -> str:
    """Return the socket over which the models of a server are managed.

    Args:
        target: The socket itself, `unix:/PATH`, or `HOST:PORT` of a server on this machine that has its socket where it
            is without `--admin-socket`.

    Raises:
        InvalidRequest: The server is on another machine.
    """
    if target.startswith(UNIX):
        return target
    if not is_local(target):
        message = f"The models of {target} are managed on its own machine, over a Unix socket; log in there."
        raise InvalidRequest(message, field="target")
    candidates = _candidates(_split(target)[1])
    there = [path for path in candidates if path.is_socket() and path.stat().st_uid == os.getuid()]
    return f"{UNIX}{(there or candidates)[0]}"


def check_socket(target: str) -> None:
    """Check that there is a socket at `unix:/PATH` that this user may open.

    Raises:
        ServerUnavailable: There is none.
        AccessDenied: It is another user's.
    """
    path = Path(target.removeprefix(UNIX))
    try:
        there = path.exists()
    except PermissionError:
        there = True
    if not there:
        raise ServerUnavailable(
            f"There is no socket {path}; start the server without --no-admin, as the same user, or give the socket "
            "that it names in its log."
        )
    if not os.access(path, os.R_OK | os.W_OK):
        message = f"The socket {path} is another user's; manage the models as the user who runs the server."
        raise AccessDenied(message, code="PERMISSION_DENIED")


def _candidates(port: str) -> list[Path]:
    """Return the folder of a server's socket: of the desktop session, or elsewhere."""
    folders = [Path(f"/tmp/vivavoce-{os.getuid()}")]  # noqa: S108 - what is there counts if it is this user's
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        folders.insert(0, Path(runtime) / "vivavoce")
    return [folder / f"admin-{port}.sock" for folder in folders]


def _split(target: str) -> tuple[str, str]:
    """Return host and port, without brackets."""
    plain = unquote(_SCHEME.sub("", target, count=1))
    if plain.startswith("["):
        host, _, rest = plain[1:].partition("]")
        return host, rest.removeprefix(":")
    with suppress(ValueError):
        return str(ipaddress.ip_address(plain)), ""
    host, _, port = plain.rpartition(":")
    return (host, port) if host else (plain, "")
