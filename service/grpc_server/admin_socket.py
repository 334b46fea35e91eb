"""Unix socket of model administration, for the service's user alone."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from service.addresses import ListenError
from service.grpc_server.server_ports import listen

if TYPE_CHECKING:
    from collections.abc import Iterator

    import grpc


class UnsafeFolderError(ListenError):
    """Others could get at the socket."""


def default_path(label: str) -> Path:
    """Return the socket's default path, where ``vivavoce models`` looks.

    Args:
        label: the callers' port, or the name of their socket.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / "vivavoce" if runtime else Path(f"/tmp/vivavoce-{os.getuid()}")  # noqa: S108 - checked
    return folder / f"admin-{label}.sock"


def listen_for_admin(server: grpc.aio.Server, path: Path, *, makes_folder: bool) -> None:
    """Let a server listen on a socket that is its user's alone from the start.

    Args:
        server: the server.
        path: of the socket; that of a service that has ended is replaced.
        makes_folder: whether the folder is made, and must be the user's alone.

    Raises:
        AddressInUseError: another service listens there.
        UnsafeFolderError: the folder is not the user's alone.
        ListenError: there cannot be a socket of this name.
        OSError: the folder cannot be made.
    """
    if makes_folder:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_shared(path.parent)
    elif path.parent.is_dir():
        refuse_writable(path.parent)
    with _private_files():
        listen(server, f"unix:{path}", 0)


def refuse_shared(folder: Path) -> None:
    """Raise UnsafeFolderError unless a folder is this user's alone."""
    found = folder.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or mode & 0o077:
        raise UnsafeFolderError(f"{folder} is not a folder of this user alone: `chmod 700` it, or remove it")


def refuse_writable(folder: Path) -> None:
    """Raise UnsafeFolderError if others could replace our socket."""
    mode = folder.stat().st_mode
    if mode & 0o022 and not mode & stat.S_ISVTX:
        raise UnsafeFolderError(f"others can write to {folder}: `chmod go-w` it, or choose another path for the socket")


@contextlib.contextmanager
def _private_files() -> Iterator[None]:
    """Make files of mode 0600 while the body runs."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)
