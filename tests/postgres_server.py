"""A real PostgreSQL with pgvector, which tests start, stop and start again."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "Secret-Pa/ss"


def programs() -> Path | None:
    """Returns the folder of PostgreSQL's programs; None: they are not installed."""
    # Importing the package starts things of its own.
    spec = importlib.util.find_spec("pgserver")
    folder = Path(spec.origin).parent / "pginstall/bin" if spec is not None and spec.origin else None
    return folder if folder is not None and (folder / "postgres").exists() else None


class PostgresServer:
    """A server in a folder of its own, on a Unix socket there; not root, as PostgreSQL demands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._as_user: dict[str, object] = {"cwd": "/"}
        found = programs()
        assert found is not None
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._as_user |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            found = _copied(found, folder / "programs")
        self._process: subprocess.Popen[bytes] | None = None
        self._programs = found
        password = folder / "password"
        password.write_text(f"{PASSWORD}\n")
        arguments = ("-U", "postgres", "--auth=scram-sha-256", "--no-sync", "-E", "UTF8", f"--pwfile={password}")
        self._call(found / "initdb", "-D", folder / "data", *arguments)

    def start(self) -> None:
        arguments = ("-c", "listen_addresses=", "-F", "-c", "shared_buffers=16MB", "-c", "max_connections=40")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder / "data", "-k", self.folder, *arguments],
                stdout=subprocess.DEVNULL,
                stderr=log,
                **self._as_user,  # type: ignore[call-overload]
            )
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url("postgres")).close()
                return
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """Ends the server at once, and all of its connections."""
        if self._process is not None:
            self._call(self._programs / "pg_ctl", "stop", "-D", self.folder / "data", "-m", "immediate")
            self._process.wait(20)
            self._process = None

    def url(self, database: str, **options: str) -> str:
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://postgres:{quote(PASSWORD, safe='')}@/{database}?host={self.folder}{more}"

    def add(self, database: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database}")

    def _call(self, *command: object) -> None:
        subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            check=True,
            **self._as_user,  # type: ignore[call-overload]
        )


def _copied(found: Path, folder: Path) -> Path:
    """Copies the programs and their libraries: other accounts may not be able to enter the checkout."""
    package = found.parents[1]
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, folder / part.name)
    return folder / found.relative_to(package.parent)


@contextlib.contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Runs a server; a test that needs one skips itself where it cannot be run."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: pip install pgserver")
    # pytest's folders are root's alone, and their paths are longer than a socket's may be.
    folder = Path(tempfile.mkdtemp(prefix="vivavoce-pg-", dir="/tmp"))
    server = None
    try:
        server = PostgresServer(folder)
        server.start()
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder)
