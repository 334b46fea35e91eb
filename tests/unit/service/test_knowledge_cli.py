"""`vivavoce knowledge`, with the network that `make setup` builds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.unit.pipelines.knowledge.documents import pdf, scan
from vivavoce.cli import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "museum"
    made.mkdir()
    (made / "hours.md").write_text("# The river museum\n\n## Opening hours\n\nOpen on Sundays from eleven to four.\n")
    (made / "boats.pdf").write_bytes(pdf([["Boats"], ["The cargo boat was built in 1874."]], title="Boats"))
    return made


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_build_and_search(folder, tmp_path, capsys):
    base = str(tmp_path / "museum.db")
    assert run(["knowledge", "build", str(folder), "--out", base]) == 0
    told = capsys.readouterr()
    assert told.out == f"{base}: 2 documents, 3 passages (2 read, 0 unchanged, 0 removed)\n"
    assert told.err == ""
    assert run(["knowledge", "search", base, "how old is the freighter", "--limit", "1"]) == 0
    assert capsys.readouterr().out == "Boats, page 2 (boats.pdf)\nThe cargo boat was built in 1874.\n\n"
    assert run(["knowledge", "search", base, "may I come at the weekend", "--json"]) == 0
    first, *_ = lines(capsys.readouterr().out)
    assert first["headings"] == ["The river museum", "Opening hours"]
    assert (first["path"], first["title"], first["page"], first["number"]) == ("hours.md", "The river museum", None, 1)


def test_what_cannot_be_read_is_told(folder, tmp_path, capsys):
    (folder / "scan.pdf").write_bytes(scan(1))
    (folder / "picture.png").write_bytes(b"png")
    arguments = ["knowledge", "build", str(folder), "--out", str(tmp_path / "museum.db")]
    assert run(arguments) == 0
    told = capsys.readouterr()
    assert "scan.pdf: 1 of its 1 pages are pictures without text" in told.err
    assert "1 unreadable, 1 files of other formats" in told.out
    assert run([*arguments, "--json"]) == 0
    *documents, whole = lines(capsys.readouterr().out)
    assert [(each["path"], each["passages"], each["problem"] is None) for each in documents] == [
        ("boats.pdf", None, True),
        ("hours.md", None, True),
        ("scan.pdf", None, False),
    ]
    assert (whole["event"], whole["unchanged"], whole["unreadable"], whole["documents"]) == ("base", 2, 1, 2)


def test_nothing_to_read_fails(tmp_path, capsys):
    (tmp_path / "empty.txt").write_text("")
    assert run(["knowledge", "build", str(tmp_path), "--out", str(tmp_path / "base.db")]) == 1
    told = capsys.readouterr()
    assert "empty.txt: it is empty: leave it out" in told.err
    assert "0 documents" in told.out
    assert run(["knowledge", "search", str(tmp_path / "base.db"), "anything"]) == 1
    assert "has no passages" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "missing.db", "x"], "there is no missing.db: build it"),
        (["search", "hours.md", "x"], "is no knowledge base"),
        (["build", ".", "--out", "none/base.db"], "cannot be written"),
        (["build", ".", "--out", "base.db", "--model-repository", "."], "no network for embeddings: build it with"),
    ],
)
def test_errors_say_what_to_do(folder, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(folder)
    assert run(["knowledge", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_the_folder_of_documents_must_be_there(tmp_path, capsys):
    assert run(["knowledge", "build", str(tmp_path / "none"), "--out", str(tmp_path / "base.db")]) == 2
    assert "does not exist" in capsys.readouterr().err
