"""Building a base from a folder, from nothing and after changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.errors import InvalidInputError
from pipelines.knowledge import building
from pipelines.knowledge.building import Progress, build, embedded_text
from pipelines.knowledge.reading.passages import Passage
from pipelines.knowledge.store.sqlite import SqliteKnowledge
from tests.unit.pipelines.knowledge.documents import scan
from tests.unit.pipelines.knowledge.embedding import DIMENSIONS, embed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    (made / "deep").mkdir(parents=True)
    (made / "boats.md").write_text("# Boats\n\nThey leave at nine.")
    (made / "deep" / "cars.txt").write_text("Cars are red.")
    return made


@pytest.fixture
def store(tmp_path: Path):
    made = SqliteKnowledge.create(tmp_path / "base.db", "words", DIMENSIONS)
    yield made
    made.close()


class Embedding:
    """Counts what is embedded."""

    def __init__(self):
        self.texts: list[str] = []

    def __call__(self, texts):
        self.texts.extend(texts)
        return embed(texts)


def test_all_documents_below_the_folder(folder, store):
    told: list[Progress] = []
    report = build(folder, store, embed, told.append)
    assert (report.read, report.unchanged, report.removed, report.passages) == (2, 0, 0, 2)
    assert told == [Progress(1, 2, "boats.md", 1), Progress(2, 2, "deep/cars.txt", 1)]
    (first, *_) = store.search("when do boats leave", embed(["boats leave"])[0])
    assert (first.path, first.title, first.passage.headings) == ("boats.md", "Boats", ("Boats",))


def test_only_what_has_changed_is_embedded_again(folder, store):
    build(folder, store, embed)
    (folder / "boats.md").write_text("# Boats\n\nThey leave at ten.")
    (folder / "deep" / "cars.txt").rename(folder / "cars.txt")
    (folder / "new.html").write_text("<p>New.")
    embedding, told = Embedding(), []
    report = build(folder, store, embedding, told.append)
    assert embedding.texts == ["Boats\nBoats\nThey leave at ten.", "cars\nCars are red.", "new\nNew."]
    assert (report.read, report.unchanged, report.removed) == (3, 0, 1)
    again = build(folder, store, embedding, told.append)
    assert (again.read, again.unchanged, again.removed, len(embedding.texts)) == (0, 3, 0, 3)
    assert told[-1] == Progress(3, 3, "new.html")
    assert sorted(store.hashes()) == ["boats.md", "cars.txt", "new.html"]


def test_documents_that_cannot_be_read_are_told_and_left_out(folder, store):
    build(folder, store, embed)
    (folder / "boats.md").write_text("")
    (folder / "scan.pdf").write_bytes(scan(1))
    (folder / "picture.png").write_bytes(b"png")
    (folder / ".hidden.txt").write_text("not read")
    told: list[Progress] = []
    report = build(folder, store, embed, told.append)
    assert set(report.problems) == {"boats.md", "scan.pdf"}
    assert "ocrmypdf" in report.problems["scan.pdf"]
    assert (report.removed, report.ignored) == (1, 1)
    assert told[0].problem == "it is empty: leave it out"
    assert list(store.hashes()) == ["deep/cars.txt"]


def test_an_interrupted_build_goes_on(folder, store):
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(folder, store, embed, interrupt)
    assert list(store.hashes()) == ["boats.md"]
    assert build(folder, store, embed).unchanged == 1


def test_long_documents_are_embedded_in_batches(folder, store, monkeypatch):
    monkeypatch.setattr(building, "_EMBEDDED_AT_ONCE", 2)
    text = "\n\n".join(" ".join(["word"] * 150) + f" {number}." for number in range(5))
    (folder / "boats.md").write_text(text)
    sizes: list[int] = []

    def counted(texts):
        sizes.append(len(texts))
        return embed(texts)

    build(folder, store, counted)
    assert sizes == [2, 2, 1, 1]


def test_folders_without_documents_and_with_too_many(tmp_path, folder, store, monkeypatch):
    with pytest.raises(InvalidInputError, match="is no folder"):
        build(tmp_path / "missing", store, embed)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match="has no documents"):
        build(tmp_path / "empty", store, embed)
    monkeypatch.setattr(building, "MAX_DOCUMENTS", 1)
    with pytest.raises(InvalidInputError, match="has 2 documents"):
        build(folder, store, embed)
    assert store.hashes() == {}


def test_what_is_embedded_says_what_it_is_about():
    assert embedded_text("Guide", Passage(1, "At nine.", ("Hours", "Sunday"))) == "Guide\nHours\nSunday\nAt nine."
