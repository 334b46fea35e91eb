"""SQLite files of knowledge bases: detection, opening, errors."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

from pipelines.knowledge.store import schema
from pipelines.knowledge.store.port import KnowledgeStoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUSY_SECONDS = 10.0
"""How long a writer waits for another one."""


def identity(path: Path) -> tuple[int, int] | None:
    """Return a file's identity; None if it is not there."""
    with contextlib.suppress(OSError):
        stat = path.stat()
        return stat.st_dev, stat.st_ino
    return None


def stored_about(path: Path, *, immutable: bool = False) -> dict[str, str]:
    """Read what a base is.

    Args:
        path: of the file.
        immutable: whether to read the file alone, without what a writer has put beside it.

    Raises:
        KnowledgeStoreError: there is none.
    """
    if not path.is_file():
        raise KnowledgeStoreError(f"there is no {path}: build it with `vivavoce knowledge build`")
    with contextlib.closing(reading(path, immutable=immutable)) as connection:
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        if mark != schema.APPLICATION_ID:
            raise sqlite3.DatabaseError("not a knowledge base")
        return about_of(connection)


def about_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Read what an open base is."""
    return dict(connection.execute("SELECT key, value FROM about").fetchall())


def reading(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """Open a file for reading."""
    # SQLite wants files beside it to see a writer's changes. Where none can be made, nobody writes.
    mode = "mode=ro" if os.access(path.parent, os.W_OK) and not immutable else "mode=ro&immutable=1"
    uri = f"{path.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(uri, BUSY_SECONDS, uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def store_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise KnowledgeStoreError(
            f"{path} cannot be {'read' if doing == 'read' else 'written'} ({error}): check its rights, the room on its "
            "disk, and whether another program writes it"
        ) from error
    except sqlite3.DatabaseError as error:
        raise KnowledgeStoreError(
            f"{path} is no knowledge base, or is damaged: choose another file, or delete it and build it with "
            "`vivavoce knowledge build`"
        ) from error
    except OSError as error:
        raise KnowledgeStoreError(f"{path} cannot be read or written ({error.strerror}): check its rights") from error
