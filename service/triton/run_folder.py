"""Folder of one run: models, Triton's backends and socket."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from service.processes.confinement import landlock_abi
from service.triton import guardian

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

logger = logging.getLogger(__name__)

_CLOSE_SECONDS = 20.0
_MAX_SOCKET_BYTES = 107
"""What Linux takes as the path of a Unix socket."""
_SOCKET = "grpc"
# Triton writes its port behind the path of the socket, too, and will not do without one.
_PORT = 1


class RunFolder:
    """Folder of mode 0700, whose guardian removes it however this process ends.

    Attributes:
        path: the folder.
        private_memory: whether Triton can be given shared memory that other accounts cannot open.
        confined: whether Triton is left with the files and rights that it needs.
        model_memory_bytes: most memory of its own that each of Triton's processes may have; None for as much as there
            is.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        path: Path,
        *,
        private_memory: bool,
        confined: bool = True,
        model_memory_bytes: int | None = None,
    ) -> None:
        self.path = path
        self.confined = confined
        self.model_memory_bytes = model_memory_bytes
        self.private_memory = private_memory
        self._guardian = process
        self._lock = os.open(path / guardian.LOCK, os.O_RDWR | os.O_CLOEXEC)
        # Held here too: a guardian that was killed alone leaves nothing that could be swept.
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    @classmethod
    def open(cls, *, confined: bool = True, model_memory_bytes: int | None = None) -> Self:
        """Make a folder in ``TMPDIR``, or in ``/tmp`` for a socket's short path.

        Args:
            confined: see the class.
            model_memory_bytes: see the class.

        Raises:
            OSError: no folder can be made, or no process started.
        """
        base = _base()
        process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", guardian.__file__, str(base)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C in the terminal must not reach it.
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout, process.stderr:
            line = process.stdout.readline()
            if not line:
                _, said = process.communicate()
                reason = said.decode(errors="replace").strip()
                raise OSError(
                    f"no folder for Triton can be made ({reason}): make room, or set TMPDIR to another folder"
                )
        said = json.loads(line)
        if said["open_memory"] is not None:
            logger.warning(
                "other accounts on this machine may look into Triton's shared memory while it starts: the system "
                "allows no mount namespace (%s); allow user namespaces, or run the service in a container of its own",
                said["open_memory"],
            )
        if confined and not landlock_abi():
            logger.warning(
                "Triton and its models can do all that this user can: the system has no Landlock (Linux 5.13 and later)"
            )
        return cls(
            process,
            Path(said["folder"]),
            private_memory=said["open_memory"] is None,
            confined=confined,
            model_memory_bytes=model_memory_bytes,
        )

    @property
    def address(self) -> str:
        """Address of Triton's gRPC endpoint: a Unix socket of this user."""
        return f"unix:{self.socket}:{_PORT}"

    @property
    def socket(self) -> Path:
        """The path that Triton is given; the socket's own has the port behind it."""
        return self.path / _SOCKET

    @property
    def port(self) -> int:
        """The port number that Triton wants beside the path."""
        return _PORT

    @property
    def segment_prefix(self) -> str:
        """Prefix of shared memory names, one per server on a machine."""
        return guardian.segment_prefix(self.path)

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment of every process of the run."""
        return {guardian.VARIABLE: str(self.path)}

    def close(self) -> None:
        """Remove the folder, and end what still runs of it. May be called twice."""
        if self._lock < 0:
            return
        assert self._guardian.stdin is not None
        self._guardian.stdin.close()
        os.close(self._lock)
        self._lock = -1
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guardian.wait(_CLOSE_SECONDS)


def _base() -> Path:
    """Choose the folder for temporary files in which a socket's path is short enough."""
    usual = Path(tempfile.gettempdir()).absolute()
    longest = f"/{guardian.PREFIX}12345678/{_SOCKET}:{_PORT}"
    fits = len(os.fsencode(usual)) + len(longest) <= _MAX_SOCKET_BYTES
    return usual if fits else Path("/tmp")  # noqa: S108 - the folder made in it is this user's alone
