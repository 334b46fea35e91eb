"""A real Redis, which tests start, stop and start again."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "Secret-Pass"


class RedisServer:
    """A server that stores nothing on disk, on a Unix socket in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://:{PASSWORD}@{self.socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        arguments = ("--port", "0", "--unixsocket", self.socket, "--save", "", "--appendonly", "no")
        self._process = subprocess.Popen(
            ["redis-server", *arguments, "--requirepass", PASSWORD],
            cwd=self.socket.parent,
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.socket))
                return
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def stop(self) -> None:
        """Ends the server, and forgets all that it kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self.socket.unlink(missing_ok=True)
            self._process = None

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Lets the server take connections, and answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Runs a server; a test that needs one skips itself where there is none."""
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server: apt-get install redis-server")
    folder = Path(tempfile.mkdtemp(prefix="vivavoce-redis-", dir="/tmp"))
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
