"""Opening and making of knowledge bases, in a file or a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.knowledge.store.database_url import DatabaseUrl, is_url, read_url
from pipelines.knowledge.store.port import KnowledgeStoreError

if TYPE_CHECKING:
    from pipelines.knowledge.store.postgres import PostgresKnowledge
    from pipelines.knowledge.store.sqlite import SqliteKnowledge


def open_base(location: Path | str, name: str = "") -> SqliteKnowledge | PostgresKnowledge:
    """Open a base for searching.

    Args:
        location: its file, or the URL of a database.
        name: of the base in the database where the URL names none.

    Raises:
        KnowledgeStoreError: there is none, or it cannot be read.
    """
    if isinstance(location, str) and is_url(location):
        return _postgres().open(_named(read_url(location, name)))
    from pipelines.knowledge.store.sqlite import SqliteKnowledge  # noqa: PLC0415 - a service needs one of the two

    return SqliteKnowledge.open(Path(location))


def create_base(location: Path | str, embedding: str, dimensions: int) -> SqliteKnowledge | PostgresKnowledge:
    """Open a base for building; make a missing one, empty one of other embeddings.

    Args:
        location: its file, or the URL of a database with the name of the base.
        embedding: name of the model that embeds the passages.
        dimensions: of its vectors.

    Raises:
        KnowledgeStoreError: it cannot be written, or another program builds it.
    """
    if isinstance(location, str) and is_url(location):
        return _postgres().create(_named(read_url(location)), embedding, dimensions)
    from pipelines.knowledge.store.sqlite import SqliteKnowledge  # noqa: PLC0415 - a program needs one of the two

    return SqliteKnowledge.create(Path(location), embedding, dimensions)


def _named(url: DatabaseUrl) -> DatabaseUrl:
    if not url.base:
        raise KnowledgeStoreError(f"{url.shown} names no base: add its name, such as ?base=museum, to the URL")
    return url


def _postgres() -> type[PostgresKnowledge]:
    try:
        from pipelines.knowledge.store.postgres import PostgresKnowledge  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise KnowledgeStoreError(
            'bases in PostgreSQL need more packages: pip install "vivavoce-server[postgres]"'
        ) from error
    return PostgresKnowledge
