"""gRPC servers: options, addresses, and obstacles to listening."""

from __future__ import annotations

import errno
import logging
import os
import resource
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from service.addresses import AddressInUseError, ListenError
from service.grpc_server.deserializers import MAX_RECEIVED_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import grpc

logger = logging.getLogger(__name__)

MAX_STREAMS_OF_CONNECTION = 100
"""Calls at a time of one connection; the client keeps further ones back. Rapid resets hurt nobody then."""
MAX_CONNECTIONS = 16_384

_FILES_FOR_OTHERS = 128
"""Files that the service has open besides connections."""
_MIN_CONNECTIONS = 64
_SILENT_SECONDS = 60
_IDENTITY_ALONE = 1
_UNIX = "unix:"
_MAX_SOCKET_PATH = 107


def server_options(
    connections: int,
    max_message_bytes: int = MAX_RECEIVED_BYTES,
    *,
    keepalive_ms: int = 20_000,
    patience_ms: int = 10_000,
) -> list[tuple[str, int]]:
    """Return the options of a server that strangers talk to.

    Args:
        connections: how many it may have at a time; further ones are closed at once.
        max_message_bytes: a longer message is refused when its length is known, before it is there.
        keepalive_ms: how long a connection may be silent before it is asked for a sign of life.
        patience_ms: how long it may take to give one, or to speak at all.
    """
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        # A few hundred kilobytes of it become a gigabyte.
        ("grpc.compression_enabled_algorithms_bitset", _IDENTITY_ALONE),
        ("grpc.max_concurrent_streams", MAX_STREAMS_OF_CONNECTION),
        # Else gRPC also refuses calls of clients that wait until an earlier one has ended, as long as it tidies up.
        ("grpc.http2.max_deallocating_streams", 2 * MAX_STREAMS_OF_CONNECTION),
        ("grpc.max_allowed_incoming_connections", connections),
        # What is held of a message that nobody has asked for; a message that was asked for flows at full speed.
        ("grpc.http2.lookahead_bytes", 65_535),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.so_reuseport", 0),
        # A client that vanished without a word is noticed within half a minute.
        ("grpc.keepalive_time_ms", keepalive_ms),
        ("grpc.keepalive_timeout_ms", patience_ms),
        ("grpc.http2.ping_timeout_ms", patience_ms),
        ("grpc.server_handshake_timeout_ms", patience_ms),
        ("grpc.http2.settings_timeout", patience_ms),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]


def raise_file_limit() -> int:
    """Raise the soft limit of open files; return the room for connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError) as error:
            logger.warning("files: the limit stays at %d (%s)", soft, error)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    connections = max(_MIN_CONNECTIONS, min(MAX_CONNECTIONS, soft - _FILES_FOR_OTHERS))
    if connections < MAX_CONNECTIONS // 16:
        logger.info("files: %d at most, so %d connections; raise `ulimit -Hn` for more", soft, connections)
    return connections


def listen(
    server: grpc.aio.Server, host: str, port: int, credentials: grpc.ServerCredentials | None = None
) -> tuple[str, int]:
    """Listen on a host and port or on ``unix:/path``; TLS with ``credentials``.

    Returns:
        An address that clients on this machine can connect to, and the port; 0 for a Unix socket.

    Raises:
        AddressInUseError: the address is taken.
        ListenError: the host is unknown, or no address of this machine.
    """
    if host.startswith(_UNIX):
        _free_socket(Path(host.removeprefix(_UNIX)))
        _bind(server, host, host, credentials=credentials)
        return host, 0
    address = _join(host, port)
    if not _addresses(host, port):
        raise ListenError(f"there is no host {host!r}: give --host a name or an address of this machine")
    bound = _bind(server, address, address, (host, port), credentials)
    return _join(host, bound), bound


def defer_silent_connections(port: int) -> None:
    """Defer silent TCP connections to the kernel, which spares open files.

    Linux alone has that; elsewhere, and after a minute, the handshake's time-out ends them.
    """
    option = getattr(socket, "TCP_DEFER_ACCEPT", None)
    if option is None or not Path("/proc/self/fd").is_dir():
        return
    for path in Path("/proc/self/fd").iterdir():
        try:
            duplicate = os.dup(int(path.name))
        except OSError:
            continue
        try:
            if not stat.S_ISSOCK(os.fstat(duplicate).st_mode):
                continue
            with socket.socket(fileno=os.dup(duplicate)) as candidate:
                if _listens_on(candidate, port):
                    candidate.setsockopt(socket.IPPROTO_TCP, option, _SILENT_SECONDS)
        except OSError as error:
            logger.debug("a listening socket keeps what it has: %s", error)
        finally:
            os.close(duplicate)


def someone_listens(path: Path) -> bool:
    """Return whether a process listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def _free_socket(path: Path) -> None:
    """Check that no other service has the socket, which gRPC would replace."""
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        raise ListenError(f"{path} is too long for a Unix socket: choose a path of at most {_MAX_SOCKET_PATH} bytes")
    if not path.parent.is_dir():
        raise ListenError(f"there is no folder {path.parent}: make it, or choose another path for the socket")
    if path.exists() and not path.is_socket():
        raise ListenError(f"{path} is there, and no socket: choose another path")
    if path.is_socket() and someone_listens(path):
        raise AddressInUseError(f"cannot listen on unix:{path}: choose another path, or stop what listens there")


def _join(host: str, port: int) -> str:
    plain = host.strip("[]")
    return f"[{plain}]:{port}" if ":" in plain else f"{plain}:{port}"


def _addresses(host: str, port: int) -> Sequence[tuple[object, ...]]:
    try:
        return socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []


def _bind(
    server: grpc.aio.Server,
    address: str,
    shown: str,
    pair: tuple[str, int] | None = None,
    credentials: grpc.ServerCredentials | None = None,
) -> int:
    try:
        if credentials is not None:
            return int(server.add_secure_port(address, credentials))
        return int(server.add_insecure_port(address))
    except RuntimeError as error:
        raise _why_not(shown, pair) from error


def _why_not(address: str, pair: tuple[str, int] | None) -> ListenError:
    """Tell why an address cannot be listened on, which gRPC does not."""
    number = _bind_error(*pair) if pair else None
    if number == errno.EADDRNOTAVAIL:
        return ListenError(f"cannot listen on {address}: give --host an address that this machine has")
    if number == errno.EACCES:
        return ListenError(f"cannot listen on {address}: choose a --port from 1024 on, or grant CAP_NET_BIND_SERVICE")
    if pair is None or number in {errno.EADDRINUSE, None}:
        cure = "choose another --port" if pair else "choose another path"
        return AddressInUseError(f"cannot listen on {address}: {cure}, or stop what listens there")
    return ListenError(f"cannot listen on {address}: {os.strerror(number)}")


def _bind_error(host: str, port: int) -> int | None:
    for family, kind, protocol, _, address in _addresses(host, port):
        with socket.socket(family, kind, protocol) as probe:  # type: ignore[arg-type]
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)  # type: ignore[arg-type]
            except OSError as error:
                return error.errno
    return None


def _listens_on(candidate: socket.socket, port: int) -> bool:
    if candidate.family not in {socket.AF_INET, socket.AF_INET6}:
        return False
    if not candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return False
    return bool(candidate.getsockname()[1] == port)
