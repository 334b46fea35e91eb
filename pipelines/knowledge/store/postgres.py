"""Knowledge bases in a PostgreSQL database: its full text search, and pgvector."""

from __future__ import annotations

import contextlib
import math
import time
import unicodedata
from typing import TYPE_CHECKING, Any, Self

import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store import postgres_schema as schema
from pipelines.knowledge.store.fusion import CANDIDATES, WEIGHT_OF_WORDS, fuse
from pipelines.knowledge.store.match_query import telling_terms
from pipelines.knowledge.store.port import DEFAULT_LIMIT, FoundPassage, KnowledgeStoreError, StoredDocument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from psycopg import Connection

    from pipelines.knowledge.store.database_url import DatabaseUrl

MAX_CONNECTIONS = 4
"""Connections of one base that searches share."""
CONNECT_SECONDS = 3
"""How long a connection is waited for; also, how long a server may be silent while something is sent to it."""
SEARCH_SECONDS = 2.0
"""How long the server may search."""
FREE_SECONDS = 1.5
"""How long a search waits for a free connection, or for one to a server that was away."""
BUILDING_SECONDS = 15.0
"""The same for a builder, whom nobody waits for."""
BUILDER_SECONDS = 3.0
"""How long a builder waits for another one that is ending."""
RETRY_SECONDS = 1.0
"""After a search that did not reach the server, others fail at once for so long."""
COMMON_SHARE = 0.1
"""Words that stand in more than this share of the passages find none by themselves where there are rarer ones."""
_BUILDER = 0x56564B42
"""Class of the advisory locks of builders: "VVKB"."""


class PostgresKnowledge:
    """A base in a database; see ``pipelines.knowledge.store.port.KnowledgeStore``.

    Any thread may use it. One program builds a base at a time; others search it meanwhile, and see a document change
    as a whole.
    """

    def __init__(self, url: DatabaseUrl, writer: Connection | None, key: int = 0) -> None:
        self._url, self._writer, self._key = url, writer, key
        self._unreachable_until = 0.0
        self._pool = ConnectionPool(
            make_conninfo(_conninfo(url), options=f"-c statement_timeout={SEARCH_SECONDS * 1000:.0f}"),
            min_size=0 if writer is not None else 1,
            max_size=MAX_CONNECTIONS,
            kwargs={"autocommit": True},
            configure=_configure,
            # A server that was away is noticed, and asked again with the next search.
            check=ConnectionPool.check_connection,
            reconnect_timeout=RETRY_SECONDS,
            timeout=BUILDING_SECONDS if writer is not None else FREE_SECONDS,
            name=url.shown,
            open=True,
        )

    @classmethod
    def create(cls, url: DatabaseUrl, embedding: str, dimensions: int) -> Self:
        """Open a base for building; make a missing one, empty one of other embeddings.

        Args:
            url: of the base.
            embedding: name of the model that embeds the passages.
            dimensions: of its vectors.

        Raises:
            KnowledgeStoreError: it cannot be written, or another program builds it.
        """
        with _told(url, "write"), contextlib.ExitStack() as undo:
            connection = undo.enter_context(psycopg.connect(_conninfo(url), autocommit=True))
            with connection.transaction():
                # One program at a time makes tables, and adds a base.
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_BUILDER,))
                connection.execute(schema.CREATE)
                stored = connection.execute(schema.BASE, (url.base,)).fetchone()
                if stored is not None:
                    _lock(connection, stored[0], url)
                if stored is not None and stored[1:] != (embedding, dimensions):
                    connection.execute(schema.drop_indexes(stored[0]))
                    connection.execute(schema.REMOVE_BASE, (stored[0],))
                    stored = None
                if stored is None:
                    stored = connection.execute(schema.ADD_BASE, (url.base, embedding, dimensions)).fetchone()
                    assert stored is not None
                    _lock(connection, stored[0], url)
                    connection.execute(schema.indexes(stored[0], dimensions))
            register_vector(connection)
            made = cls(url, connection, stored[0])
            undo.pop_all()
            return made

    @classmethod
    def open(cls, url: DatabaseUrl) -> Self:
        """Open a base for searching.

        Raises:
            KnowledgeStoreError: there is none, or the server cannot be reached.
        """
        with _told(url, "read"), psycopg.connect(_conninfo(url)) as connection:
            if connection.execute(schema.BASE, (url.base,)).fetchone() is None:
                raise _missing(url)
        return cls(url, None)

    @property
    def embedding(self) -> str:
        """Name of the model that embedded the passages."""
        with _told(self._url, "read"), self._pool.connection() as connection:
            row = connection.execute(schema.BASE, (self._url.base,)).fetchone()
            return str(row[1]) if row is not None else ""

    def hashes(self) -> dict[str, str]:
        """See ``KnowledgeStore``."""
        with _told(self._url, "read"), self._pool.connection() as connection:
            return dict(connection.execute(schema.HASHES, (self._url.base,)).fetchall())

    def count(self) -> tuple[int, int]:
        """Return the numbers of documents and of passages."""
        with _told(self._url, "read"), self._pool.connection() as connection:
            row = connection.execute(schema.COUNT, (self._url.base,)).fetchone()
            assert row is not None
            return row[0], row[1]

    def replace(self, document: StoredDocument, passages: Sequence[Passage], vectors: npt.NDArray[np.float32]) -> None:
        """See ``KnowledgeStore``."""
        with self._writing() as connection:
            self._remove(connection, document.path)
            values = (self._key, _plain(document.path), _plain(document.title), document.content_hash)
            row = connection.execute(schema.ADD_DOCUMENT, values).fetchone()
            assert row is not None
            with connection.cursor() as cursor:
                rows = [
                    (
                        self._key,
                        row[0],
                        passage.number,
                        passage.page,
                        Jsonb([*map(_plain, passage.headings)]),
                        _plain(passage.text),
                        _words_of(document, passage),
                        vector,
                    )
                    for passage, vector in zip(passages, vectors, strict=True)
                ]
                cursor.executemany(schema.ADD_PASSAGE, rows)
            counted = {"base": self._key, "document": row[0], "passages": len(passages)}
            connection.execute(schema.COUNT_IN, counted)

    def remove(self, paths: Sequence[str]) -> None:
        """See ``KnowledgeStore``."""
        if paths:
            with self._writing() as connection:
                for path in paths:
                    self._remove(connection, path)

    def search(
        self, question: str, vector: npt.NDArray[np.float32] | None, limit: int = DEFAULT_LIMIT
    ) -> list[FoundPassage]:
        """See ``KnowledgeStore``."""
        if time.monotonic() < self._unreachable_until:
            raise _unreachable(self._url)
        try:
            with _told(self._url, "read"), self._pool.connection() as connection:
                return self._search(connection, question, vector, limit)
        except _UnreachableError:
            self._unreachable_until = time.monotonic() + RETRY_SECONDS
            raise

    def close(self) -> None:
        """See ``KnowledgeStore``."""
        self._pool.close()
        if self._writer is not None:
            self._writer.close()

    def _search(
        self, connection: Connection, question: str, vector: npt.NDArray[np.float32] | None, limit: int
    ) -> list[FoundPassage]:
        terms = _folded(" ".join(telling_terms(question)))
        rows = connection.execute(schema.LOOK_UP, (terms, self._url.base)).fetchall()
        if not rows:
            raise _missing(self._url)
        key, embedding, dimensions, passages = rows[0][:4]
        rankings: list[tuple[float, list[int]]] = []
        if common := {lexeme: count for *_, lexeme, count in rows if lexeme is not None}:
            rankings.append((WEIGHT_OF_WORDS, _by_words(connection, key, common, passages)))
        if vector is not None:
            if len(vector) != dimensions:
                raise KnowledgeStoreError(
                    f"{self._url.shown} was built with embeddings of {embedding}: build it anew with the model that "
                    "serves"
                )
            ranked = connection.execute(schema.ranked_by_meaning(key, dimensions), (vector, CANDIDATES)).fetchall()
            rankings.append((1.0, [member for (member,) in ranked]))
        fused = fuse(rankings)[: max(limit, 0)]
        found = connection.execute(schema.FOUND, ([member for member, _ in fused],)).fetchall()
        by_id = {row[0]: row for row in found}
        # A passage may have gone since it was ranked.
        return [_passage(by_id[member], score) for member, score in fused if member in by_id]

    def _remove(self, connection: Connection, path: str) -> None:
        connection.execute(schema.REMOVE_DOCUMENT, {"base": self._key, "path": _plain(path)})
        connection.execute(schema.FORGET_DOCUMENT, (self._key, _plain(path)))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection]:
        if self._writer is None:
            raise KnowledgeStoreError(f"{self._url.shown} is open for searching alone: build it with `--to`")
        with _told(self._url, "write"), self._writer.transaction():
            yield self._writer


class _UnreachableError(KnowledgeStoreError):
    """The server did not answer."""


def _by_words(connection: Connection, key: int, common: dict[str, int], passages: int) -> list[int]:
    """Rank passages by words in common with a question, rare ones first.

    Args:
        connection: to the database.
        key: id of the base.
        common: number of passages that have a word, by word.
        passages: number of all passages.
    """
    most = max(passages * COMMON_SHARE, CANDIDATES)
    finding = [lexeme for lexeme, count in common.items() if count <= most] or [min(common, key=common.__getitem__)]
    weighed = [
        value
        for lexeme, count in common.items()
        for value in (math.log(1 + (passages - count + 0.5) / (count + 0.5)), _quoted(lexeme))
    ]
    query = " | ".join(_quoted(lexeme) for lexeme in finding)
    ranked = connection.execute(schema.ranked_by_words(key, len(common)), (query, *weighed, CANDIDATES)).fetchall()
    return [member for (member,) in ranked]


def _quoted(lexeme: str) -> str:
    """Return a word as a query, in which nothing is an operator."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def _words_of(document: StoredDocument, passage: Passage) -> str:
    return _folded(_plain("\n".join((document.title, *passage.headings, passage.text))))


def _folded(text: str) -> str:
    """Return text without accents, which few people type."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))


def _plain(text: str) -> str:
    """Return text without the one character that PostgreSQL does not store."""
    return text.replace("\0", "")


def _passage(row: tuple[Any, ...], score: float) -> FoundPassage:
    _, path, title, number, page, headings, body = row
    return FoundPassage(path, title, Passage(number, body, tuple(headings), page), score)


def _configure(connection: Connection) -> None:
    register_vector(connection)
    # The index looks at no more than this, by default at fewer than are wanted.
    connection.execute(f"SET hnsw.ef_search = {2 * CANDIDATES}")


def _lock(connection: Connection, key: int, url: DatabaseUrl) -> None:
    """Keep other builders out until the connection ends."""
    connection.execute(f"SET LOCAL lock_timeout = {BUILDER_SECONDS * 1000:.0f}")
    try:
        connection.execute("SELECT pg_advisory_lock(%s, %s)", (_BUILDER, key))
    except psycopg.errors.LockNotAvailable as error:
        raise KnowledgeStoreError(f"another program builds {url.shown}: wait until it has ended") from error


def _conninfo(url: DatabaseUrl) -> str:
    """Return how the database is reached, with bounds where the URL has none."""
    bounds = {"connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": CONNECT_SECONDS * 1000}
    given = conninfo_to_dict(url.conninfo)
    return make_conninfo("", **{**bounds, "application_name": "vivavoce", **given})


def _missing(url: DatabaseUrl) -> KnowledgeStoreError:
    return KnowledgeStoreError(
        f"there is no base {url.base!r} in {url.shown.partition('?')[0]}: build it with `vivavoce knowledge build DIR "
        "--to URL`"
    )


def _unreachable(url: DatabaseUrl) -> _UnreachableError:
    return _UnreachableError(f"the server of {url.shown} does not answer: check that it runs, its address and its load")


@contextlib.contextmanager
def _told(url: DatabaseUrl, doing: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into ours, without connection details."""
    try:
        yield
    except (psycopg.errors.InvalidPassword, psycopg.errors.InvalidAuthorizationSpecification) as error:
        raise KnowledgeStoreError(f"{url.shown} refuses the user or the password: check both") from error
    except psycopg.errors.UndefinedTable as error:
        raise _missing(url) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise KnowledgeStoreError(
            f"{url.shown}: the user may not {doing} it: GRANT it the right, and let an administrator say CREATE "
            "EXTENSION vector"
        ) from error
    except psycopg.errors.FeatureNotSupported as error:
        raise KnowledgeStoreError(f"the server of {url.shown} has no pgvector: install it there") from error
    except psycopg.ProgrammingError as error:
        raise KnowledgeStoreError(
            f"{url.shown} cannot be reached as its URL says: check its options, user and database"
        ) from error
    except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed) as error:
        raise _unreachable(url) from error
    except psycopg.Error as error:
        raise KnowledgeStoreError(f"{url.shown} cannot {doing} it ({error.sqlstate}): see the server's log") from error
