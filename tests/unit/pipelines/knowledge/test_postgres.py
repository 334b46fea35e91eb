"""Knowledge bases in a real PostgreSQL with pgvector."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest

from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.database_url import DatabaseUrl, read_url
from pipelines.knowledge.store.location import create_base, open_base
from pipelines.knowledge.store.port import KnowledgeStoreError, StoredDocument
from pipelines.knowledge.store.postgres import PostgresKnowledge
from pipelines.knowledge.store.sqlite import SqliteKnowledge
from tests.postgres_server import PASSWORD, PostgresServer, postgres_server
from tests.unit.pipelines.knowledge import test_store
from tests.unit.pipelines.knowledge.embedding import DIMENSIONS, embed
from tests.unit.pipelines.knowledge.test_store import found, put

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def url(server: PostgresServer) -> str:
    database = f"test_{next(NUMBERS)}"
    server.add(database)
    return server.url(database, base="museum")


@pytest.fixture
def store(url: str):
    made = create_base(url, "words", DIMENSIONS)
    assert isinstance(made, PostgresKnowledge)
    yield made
    made.close()


class TestSearch(test_store.TestSearch):
    """All that SQLite does."""

    def test_rare_words_count_more(self, store):
        put(store, "common", *(f"boat number {number}" for number in range(30)))
        put(store, "rare", "A boat with a figurehead.")
        assert found(store, "boat boat boat figurehead", by_meaning=False)[0] == "A boat with a figurehead."

    def test_characters_that_mean_something_to_the_server(self, store):
        put(store, "it's a \\ 100% \0 path", "O'Neill's \\ boat & crew: 50% | \0 <->", title="It's\0")
        assert found(store, "o'neill's \\ 50% & | <-> boat", by_meaning=False) == [
            "O'Neill's \\ boat & crew: 50% |  <->"
        ]


class TestChanges:
    def test_a_replaced_document_leaves_nothing_behind(self, store, url):
        put(store, "a", "old one", "old two")
        put(store, "a", "new one")
        assert found(store, "old two", by_meaning=False) == []
        assert found(store, "new old") == ["new one"]
        assert store.count() == (1, 1)
        assert store.hashes() == {"a": "hash of ('new one',)"}
        assert counted(url) == {"new": 1, "one": 1, "part": 1, "o": 1}

    def test_removed_documents_are_found_no_more(self, store, url):
        put(store, "a", "old one")
        put(store, "b", "other one")
        store.remove(["a", "not there"])
        store.remove([])
        assert found(store, "one") == ["other one"]
        assert counted(url) == {"b": 1, "one": 1, "part": 1}
        assert store.count() == (1, 1)

    def test_an_error_changes_nothing(self, store):
        put(store, "a", "first", "second")
        with pytest.raises(ValueError, match="zip"):
            store.replace(StoredDocument("a", "a", "x"), [Passage(1, "third")], embed(["x", "y"]))
        assert found(store, "first")[0] == "first"
        put(store, "b", "fourth")
        assert store.count() == (2, 3)

    def test_bases_of_one_database_keep_apart(self, store, url):
        put(store, "a", "first")
        other = create_base(url.replace("base=museum", "base=zoo"), "words", DIMENSIONS)
        try:
            put(other, "a", "second")
            assert (found(store, "first second"), found(other, "first second")) == (["first"], ["second"])
            assert other.count() == (1, 1)
        finally:
            other.close()

    def test_readers_see_what_a_builder_changes(self, store, url):
        put(store, "a", "first")
        reader = open_base(url)
        try:
            assert found(reader, "first") == ["first"]
            put(store, "a", "second")
            assert found(reader, "first second") == ["second"]
            with pytest.raises(KnowledgeStoreError, match="searching alone"):
                put(reader, "c", "third")
        finally:
            reader.close()

    def test_reading_while_it_is_written(self, store, url):
        put(store, "0", "boat 0")
        reader, problems, done = open_base(url), [], threading.Event()

        def read():
            try:
                while not done.is_set():
                    assert "boat 0" in found(reader, "boat 0")
            except Exception as error:  # noqa: BLE001 - told to the test
                problems.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        for number in range(1, 30):
            put(store, str(number % 7 + 1), f"boat {number}")
        done.set()
        thread.join()
        reader.close()
        assert problems == []

    def test_other_embeddings_empty_the_base_for_its_readers_too(self, store, url):
        put(store, "a", "first")
        reader = open_base(url)
        store.close()
        other = create_base(url, "other", 2)
        try:
            assert other.count() == (0, 0)
            other.replace(StoredDocument("b", "b", "b"), [Passage(1, "second")], np.eye(2, dtype=np.float32)[:1])
            (only,) = reader.search("", np.ones(2, np.float32))
            assert only.passage.text == "second"
            assert reader.embedding == "other"
        finally:
            reader.close()
            other.close()

    def test_one_builder_at_a_time(self, store, url):
        with pytest.raises(KnowledgeStoreError, match=r"another program builds .*museum: wait"):
            create_base(url, "words", DIMENSIONS)
        put(store, "a", "first")
        store.close()
        again = create_base(url, "words", DIMENSIONS)
        assert again.hashes().keys() == {"a"}
        again.close()


class TestServer:
    def test_it_goes_and_comes_back(self, server, store, url):
        put(store, "a", "first")
        reader = open_base(url)
        try:
            assert found(reader, "first") == ["first"]
            server.stop()
            began = time.monotonic()
            for _ in range(3):
                with pytest.raises(KnowledgeStoreError, match="does not answer: check that it runs"):
                    found(reader, "first")
            assert time.monotonic() - began < 4
            with pytest.raises(KnowledgeStoreError, match="does not answer"):
                put(store, "b", "second")
            with pytest.raises(KnowledgeStoreError, match="does not answer"):
                open_base(url)
            server.start()
            until_found(reader)
        finally:
            server.stop()
            server.start()
            reader.close()

    def test_what_is_missing(self, server, url):
        for name in ("museum", "zoo"):
            with pytest.raises(KnowledgeStoreError, match=f"there is no base '{name}' in .*knowledge build"):
                open_base(url.replace("base=museum", f"base={name}"))
            create_base(url, "words", DIMENSIONS).close()
        with pytest.raises(KnowledgeStoreError, match="names no base: add its name"):
            open_base(url.replace("&base=museum", ""))
        assert open_base(url.replace("&base=museum", ""), "museum").close() is None

    def test_errors_hold_no_password(self, server, url):
        for wrong in (
            url.replace("Secret", "Wrong"),
            url.replace("postgres:", "nobody:"),
            url + "&nonsense=1",
            url + "&port=abc",
            url.replace("test_", "no_such_"),
            url + "&connect_timeout",
            "postgresql://user:Secret-Pass@[::1/db?base=x",
            "postgresql://user:Secret/Pass@host/db?base=x",
        ):
            for opened in (open_base, lambda location: create_base(location, "words", DIMENSIONS)):
                with pytest.raises(KnowledgeStoreError) as caught:
                    opened(wrong)
                assert "Pa" not in str(caught.value), wrong
                assert ": " in str(caught.value)

    def test_a_reader_without_rights(self, server, store, url):
        with psycopg.connect(url.replace("&base=museum", ""), autocommit=True) as connection:
            connection.execute("DROP ROLE IF EXISTS reader")
            connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
        reader = url.replace("postgres:", "reader:")
        with pytest.raises(KnowledgeStoreError, match="may not read it: GRANT"):
            open_base(reader)
        with pytest.raises(KnowledgeStoreError, match="may not write it: GRANT"):
            create_base(reader, "words", DIMENSIONS)


class TestUrl:
    def test_parts(self):
        url = read_url("postgresql://me:pa%20ss@host:5433/db?base=zoo&sslmode=require", "other")
        assert (url.base, url.shown) == ("zoo", "postgresql://host:5433/db?base=zoo")
        assert url.conninfo == "postgresql://me:pa%20ss@host:5433/db?sslmode=require"
        assert "pa" not in repr(url)
        assert read_url("postgres:///db", "other") == DatabaseUrl(
            "postgres:///db", "other", "postgresql:///db?base=other"
        )

    def test_files_are_no_urls(self, tmp_path):
        made = create_base(tmp_path / "base.db", "words", DIMENSIONS)
        assert isinstance(made, SqliteKnowledge)
        made.close()
        again = open_base(str(tmp_path / "base.db"))
        assert again.count() == (0, 0)
        again.close()


def counted(url: str) -> dict[str, int]:
    """Returns in how many passages each word stands, as the database keeps it."""
    with psycopg.connect(url.replace("&base=museum", "")) as connection:
        rows = connection.execute("SELECT lexeme, passages FROM vivavoce_knowledge_1.lexemes WHERE passages > 0")
        return dict(rows.fetchall())


def until_found(reader: PostgresKnowledge) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            assert found(reader, "first") == ["first"]
        except KnowledgeStoreError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return
