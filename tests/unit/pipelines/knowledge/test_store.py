"""Knowledge bases in SQLite files."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.port import KnowledgeStoreError, StoredDocument
from pipelines.knowledge.store.sqlite import SqliteKnowledge
from tests.unit.pipelines.knowledge.embedding import DIMENSIONS, embed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path):
    made = SqliteKnowledge.create(tmp_path / "base.db", "words", DIMENSIONS)
    yield made
    made.close()


def put(store: SqliteKnowledge, path: str, *texts: str, title: str = "") -> None:
    passages = [Passage(number, text, ("Part", text[:5]), number + 10) for number, text in enumerate(texts, 1)]
    store.replace(StoredDocument(path, title or path, f"hash of {texts}"), passages, embed(texts))


def found(store: SqliteKnowledge, question: str, *, by_meaning: bool = True) -> list[str]:
    vector = embed([question])[0] if by_meaning else None
    return [each.passage.text for each in store.search(question, vector)]


class TestSearch:
    def test_the_whole_passage_comes_back(self, store):
        put(store, "a/guide.md", "Blue boats leave at nine.", title="Guide")
        (only,) = store.search("when do boats leave", embed(["boats"])[0])
        assert (only.path, only.title) == ("a/guide.md", "Guide")
        assert only.passage == Passage(1, "Blue boats leave at nine.", ("Part", "Blue "), 11)
        assert only.score > 0

    def test_words_find_other_forms_and_accents(self, store):
        put(store, "a", "The cafés were opening.", "Nothing else.")
        assert found(store, "when does the cafe open", by_meaning=False) == ["The cafés were opening."]

    def test_meaning_finds_what_no_word_does(self, store):
        put(store, "a", "The car is red.", "A tree is green.")
        assert found(store, "automobile", by_meaning=False) == []
        assert found(store, "automobile")[0] == "The car is red."

    def test_title_and_headings_are_searched(self, store):
        put(store, "a", "Ten euros.", title="Tickets")
        put(store, "b", "Five euros.", title="Coffee")
        assert found(store, "tickets", by_meaning=False) == ["Ten euros."]

    def test_the_limit(self, store):
        put(store, "a", *(f"boat number {number}" for number in range(80)))
        assert len(store.search("boat", embed(["boat"])[0], 3)) == 3
        assert store.search("boat", embed(["boat"])[0], 0) == []

    @pytest.mark.parametrize("question", ["", "?", '"', "a AND", "NEAR(", "title: x*"])
    def test_no_question_is_an_error(self, store, question):
        put(store, "some document", "Text.")
        assert found(store, question, by_meaning=False) == []
        assert found(store, question) == ["Text."]

    def test_a_vector_of_another_model_is_refused(self, store):
        with pytest.raises(KnowledgeStoreError, match="embeddings of words"):
            store.search("x", np.ones(3, np.float32))

    def test_common_words_are_left_out_in_large_bases(self, store, monkeypatch):
        put(store, "a", *(f"boat {number}" for number in range(8)), "boat and figurehead", "figurehead")
        assert len(store.search("a figurehead of a boat", None, 20)) == 10
        if isinstance(store, SqliteKnowledge):
            monkeypatch.setattr("pipelines.knowledge.store.sqlite.LARGE_PASSAGES", 5)
            monkeypatch.setattr("pipelines.knowledge.store.sqlite.MAX_RANKED", 5)
            only = found(store, "a figurehead of a boat", by_meaning=False)
            assert sorted(only) == ["boat and figurehead", "figurehead"]


class TestChanges:
    def test_a_replaced_document_leaves_nothing_behind(self, store):
        put(store, "a", "old one", "old two")
        assert found(store, "old")
        put(store, "a", "new one")
        assert found(store, "old two", by_meaning=False) == []
        assert found(store, "new old") == ["new one"]
        assert store.count() == (1, 1)
        assert store.hashes() == {"a": "hash of ('new one',)"}

    def test_removed_documents_are_found_no_more(self, store):
        put(store, "a", "old one")
        put(store, "b", "other one")
        assert len(found(store, "one")) == 2
        store.remove(["a", "not there"])
        assert found(store, "one") == ["other one"]

    def test_an_error_changes_nothing(self, store):
        put(store, "a", "first", "second")
        with pytest.raises(ValueError, match="zip"):
            store.replace(StoredDocument("a", "a", "x"), [Passage(1, "third")], embed(["x", "y"]))
        assert found(store, "first")[0] == "first"
        put(store, "b", "fourth")
        assert store.count() == (2, 3)

    def test_a_reader_sees_what_a_writer_changes(self, store, tmp_path):
        put(store, "a", "first")
        reader = SqliteKnowledge.open(tmp_path / "base.db")
        try:
            assert found(reader, "first") == ["first"]
            put(store, "a", "second")
            assert found(reader, "first second") == ["second"]
            put(store, "b", "first")
            assert sorted(found(reader, "first second")) == ["first", "second"]
            with pytest.raises(KnowledgeStoreError, match="cannot be written"):
                put(reader, "c", "third")
        finally:
            reader.close()

    def test_reading_while_it_is_written(self, store, tmp_path):
        put(store, "0", "boat 0")
        reader, problems, done = SqliteKnowledge.open(tmp_path / "base.db"), [], threading.Event()

        def read():
            try:
                while not done.is_set():
                    assert "boat 0" in found(reader, "boat 0")
            except Exception as error:  # noqa: BLE001 - told to the test
                problems.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        for number in range(1, 60):
            put(store, str(number % 7 + 1), f"boat {number}")
        done.set()
        thread.join()
        reader.close()
        assert problems == []

    def test_other_embeddings_empty_the_base_for_its_readers_too(self, store, tmp_path):
        put(store, "a", "first")
        reader = SqliteKnowledge.open(tmp_path / "base.db")
        assert found(reader, "first") == ["first"]
        other = SqliteKnowledge.create(tmp_path / "base.db", "other", 2)
        try:
            assert other.count() == (0, 0)
            other.replace(StoredDocument("b", "b", "b"), [Passage(1, "second")], np.eye(2, dtype=np.float32)[:1])
            (only,) = reader.search("", np.ones(2, np.float32))
            assert only.passage.text == "second"
            assert reader.embedding == "other"
        finally:
            reader.close()
            other.close()


class TestFile:
    def test_it_is_there_again_and_one_file(self, store, tmp_path):
        put(store, "a", "first")
        store.close()
        assert [path.name for path in tmp_path.iterdir()] == ["base.db"]
        for opened in (SqliteKnowledge.open, lambda path: SqliteKnowledge.create(path, "words", DIMENSIONS)):
            again = opened(tmp_path / "base.db")
            assert found(again, "first") == ["first"]
            again.close()

    def test_a_file_that_takes_its_place_is_searched(self, store, tmp_path):
        put(store, "a", "first")
        store.close()
        reader = SqliteKnowledge.open(tmp_path / "base.db")
        try:
            assert found(reader, "first") == ["first"]
            other = SqliteKnowledge.create(tmp_path / "other.db", "words", DIMENSIONS)
            put(other, "b", "second")
            other.close()
            (tmp_path / "other.db").rename(tmp_path / "base.db")
            assert found(reader, "first second") == ["second"]
            (tmp_path / "damaged").write_bytes(b"no base at all, but longer than a header" * 9)
            (tmp_path / "damaged").rename(tmp_path / "base.db")
            assert found(reader, "first second") == ["second"], "what cannot be read takes no place"
            (tmp_path / "base.db").unlink()
            assert found(reader, "first second") == ["second"]
        finally:
            reader.close()

    def test_a_folder_said_to_be_read_only(self, store, tmp_path, monkeypatch):
        put(store, "a", "first")
        store.close()
        monkeypatch.setattr("os.access", lambda path, mode: False)
        reader = SqliteKnowledge.open(tmp_path / "base.db")
        assert found(reader, "first") == ["first"]
        assert [path.name for path in tmp_path.iterdir()] == ["base.db"]
        reader.close()

    def test_what_is_missing(self, tmp_path):
        with pytest.raises(KnowledgeStoreError, match=r"there is no .*knowledge build"):
            SqliteKnowledge.open(tmp_path / "base.db")
        with pytest.raises(KnowledgeStoreError, match="cannot be written"):
            SqliteKnowledge.create(tmp_path / "no" / "base.db", "words", DIMENSIONS)

    @pytest.mark.parametrize("content", [b"no database at all, but longer than a header" * 9, None])
    def test_what_is_no_base(self, tmp_path, content):
        path = tmp_path / "base.db"
        if content is None:
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE mine (x)")
            connection.close()
            content = path.read_bytes()
        else:
            path.write_bytes(content)
        for opened in (SqliteKnowledge.open, lambda path: SqliteKnowledge.create(path, "words", DIMENSIONS)):
            with pytest.raises(KnowledgeStoreError, match="is no knowledge base"):
                opened(path)
        assert path.read_bytes() == content

    def test_another_version_is_built_anew(self, store, tmp_path):
        put(store, "a", "first")
        store.close()
        with sqlite3.connect(tmp_path / "base.db") as connection:
            connection.execute("UPDATE about SET value = '0' WHERE key = 'version'")
        connection.close()
        with pytest.raises(KnowledgeStoreError, match="another version"):
            SqliteKnowledge.open(tmp_path / "base.db")
        again = SqliteKnowledge.create(tmp_path / "base.db", "words", DIMENSIONS)
        assert again.count() == (0, 0)
        again.close()
