"""Knowledge base in one SQLite file: full text search by FTS5, vectors beside it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from typing import TYPE_CHECKING, Self

from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store import schema
from pipelines.knowledge.store.fusion import CANDIDATES, WEIGHT_OF_WORDS, fuse
from pipelines.knowledge.store.match_query import any_of, match_query, rarest, telling_terms
from pipelines.knowledge.store.port import DEFAULT_LIMIT, FoundPassage, KnowledgeStoreError, StoredDocument
from pipelines.knowledge.store.sqlite_file import BUSY_SECONDS, about_of, identity, reading, store_errors, stored_about
from pipelines.knowledge.store.vectors import VectorIndex, pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

LARGE_PASSAGES = 20_000
"""In bases that have more, not all words of a question are searched."""
MAX_RANKED = 5_000
"""Passages that are ranked by words there: about as many as can be in 30 ms."""
_LOADED_AT_ONCE = 500


class SqliteKnowledge:
    """A base in one file; see ``pipelines.knowledge.store.port.KnowledgeStore``.

    Any thread may use it; calls wait for each other.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, reopens: bool = False) -> None:
        self._connection = connection
        self._path = path
        self._lock = threading.Lock()
        self._about = about_of(connection)
        self._index = VectorIndex(int(self._about["dimensions"]))
        self._seen_version: int | None = None
        self._file = identity(path)
        self._reopens = reopens

    @classmethod
    def create(cls, path: Path, embedding: str, dimensions: int) -> Self:
        """Open a base for building; make a missing one, empty one of other embeddings.

        Args:
            path: of the file; its folder exists.
            embedding: name of the model that embeds the passages.
            dimensions: of its vectors.

        Raises:
            KnowledgeStoreError: the file is no knowledge base, or cannot be written.
        """
        about = {"version": schema.VERSION, "embedding": embedding, "dimensions": str(dimensions)}
        with store_errors(path, "write"):
            is_current = path.exists() and path.stat().st_size > 0 and stored_about(path) == about
            connection = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                # Readers go on with what they saw while a document is written.
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                if not is_current:
                    connection.executescript(f"BEGIN IMMEDIATE; {schema.CREATE}")
                    connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
                    connection.execute("COMMIT")
                return cls(connection, path)
            except BaseException:
                connection.close()
                raise

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a base for searching.

        Raises:
            KnowledgeStoreError: there is none, or it is of another version.
        """
        with store_errors(path, "read"):
            about = stored_about(path)
            if about.get("version") != schema.VERSION:
                raise KnowledgeStoreError(
                    f"{path} was built by another version of Vivavoce: build it anew with `vivavoce knowledge build`"
                )
            return cls(reading(path), path, reopens=True)

    @property
    def embedding(self) -> str:
        """Name of the model that embedded the passages."""
        return self._about["embedding"]

    def hashes(self) -> dict[str, str]:
        """See ``KnowledgeStore``."""
        with self._lock, store_errors(self._path, "read"):
            return dict(self._connection.execute("SELECT path, content_hash FROM documents").fetchall())

    def count(self) -> tuple[int, int]:
        """Return the numbers of documents and of passages."""
        query = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM passages)"
        with self._lock, store_errors(self._path, "read"):
            documents, passages = self._connection.execute(query).fetchone()
        return documents, passages

    def replace(self, document: StoredDocument, passages: Sequence[Passage], vectors: npt.NDArray[np.float32]) -> None:
        """See ``KnowledgeStore``."""
        with self._lock, store_errors(self._path, "write"), self._transaction() as connection:
            self._delete(document.path)
            cursor = connection.execute(
                "INSERT INTO documents (path, title, content_hash) VALUES (?, ?, ?)",
                (document.path, document.title, document.content_hash),
            )
            key = cursor.lastrowid
            for passage, vector in zip(passages, vectors, strict=True):
                headings = json.dumps(passage.headings, ensure_ascii=False)
                cursor = connection.execute(
                    "INSERT INTO passages (document, number, page, headings, vector) VALUES (?, ?, ?, ?, ?)",
                    (key, passage.number, passage.page, headings, pack(vector)),
                )
                connection.execute(
                    "INSERT INTO texts (rowid, title, headings, body) VALUES (?, ?, ?, ?)",
                    (cursor.lastrowid, document.title, "\n".join(passage.headings), passage.text),
                )

    def remove(self, paths: Sequence[str]) -> None:
        """See ``KnowledgeStore``."""
        with self._lock, store_errors(self._path, "write"), self._transaction():
            for path in paths:
                self._delete(path)

    def search(
        self, question: str, vector: npt.NDArray[np.float32] | None, limit: int = DEFAULT_LIMIT
    ) -> list[FoundPassage]:
        """See ``KnowledgeStore``."""
        with self._lock, store_errors(self._path, "read"):
            self._reopen_replaced()
            rankings: list[tuple[float, list[int]]] = []
            if query := self._query(question):
                ranked = self._connection.execute(schema.RANKED, (query, CANDIDATES)).fetchall()
                rankings.append((WEIGHT_OF_WORDS, [key for (key,) in ranked]))
            if vector is not None:
                self._refresh()
                if len(vector) != int(self._about["dimensions"]):
                    raise KnowledgeStoreError(
                        f"{self._path} was built with embeddings of {self.embedding}: build it anew with the model "
                        "that serves"
                    )
                rankings.append((1.0, self._index.nearest(vector, CANDIDATES)))
            return list(self._found(fuse(rankings), limit))

    def close(self) -> None:
        """See ``KnowledgeStore``."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            # One file holds everything then; readers that are there keep the log beside it.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def _query(self, question: str) -> str:
        """Return the words to search; in large bases no very frequent ones."""
        (last,) = self._connection.execute("SELECT max(id) FROM passages").fetchone()
        if (last or 0) <= LARGE_PASSAGES:
            return match_query(question)
        count = "SELECT count(*) FROM texts WHERE texts MATCH ?"
        counts = {
            term: self._connection.execute(count, (any_of([term]),)).fetchone()[0] for term in telling_terms(question)
        }
        return any_of(rarest(counts, MAX_RANKED))

    def _reopen_replaced(self) -> None:
        """Switch to a replaced file, if it is a base."""
        if not self._reopens or (file := identity(self._path)) in {self._file, None}:
            return
        self._file = file
        with contextlib.suppress(KnowledgeStoreError, sqlite3.Error):
            # Apart from the files beside it, which are still those of the file that is open.
            about = stored_about(self._path, immutable=True)
            if about.get("version") == schema.VERSION:
                self._connection.close()
                self._connection, self._about, self._seen_version = reading(self._path), about, None
                self._index = VectorIndex(int(about["dimensions"]))

    def _found(self, fused: Sequence[tuple[int, float]], limit: int) -> Iterator[FoundPassage]:
        for key, score in fused:
            if limit <= 0:
                return
            row = self._connection.execute(schema.FOUND, (key,)).fetchone()
            # A passage may have gone since it was ranked.
            if row is not None:
                limit -= 1
                path, title, number, page, headings, body = row
                yield FoundPassage(path, title, Passage(number, body, tuple(json.loads(headings)), page), score)

    def _refresh(self) -> None:
        """Take over what another connection or this one has changed."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._seen_version:
            return
        about = about_of(self._connection)
        if about != self._about:
            self._about, self._index = about, VectorIndex(int(about["dimensions"]))
        ids = [key for (key,) in self._connection.execute("SELECT id FROM passages")]
        self._index.update(ids, self._load)
        self._seen_version = version

    def _load(self, ids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        for at in range(0, len(ids), _LOADED_AT_ONCE):
            some = ids[at : at + _LOADED_AT_ONCE]
            marks = ",".join("?" * len(some))
            yield from self._connection.execute(
                f"SELECT id, vector FROM passages WHERE id IN ({marks})",  # noqa: S608 - question marks alone
                some,
            )

    def _delete(self, path: str) -> None:
        row = self._connection.execute("SELECT id FROM documents WHERE path = ?", (path,)).fetchone()
        if row is not None:
            self._connection.execute(
                "DELETE FROM texts WHERE rowid IN (SELECT id FROM passages WHERE document = ?)", row
            )
            self._connection.execute("DELETE FROM passages WHERE document = ?", row)
            self._connection.execute("DELETE FROM documents WHERE id = ?", row)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        # ``data_version`` tells of other connections' changes alone.
        self._seen_version = None
