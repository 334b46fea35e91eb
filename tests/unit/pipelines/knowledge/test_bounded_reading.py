"""Documents that bite: reading them ends in time, takes no more memory than it may, and harms no other document."""

from __future__ import annotations

import os
import time
import zlib
from typing import TYPE_CHECKING

import pytest

from pipelines.knowledge.building import unreadable
from pipelines.knowledge.reading.bounded import BoundedReader
from pipelines.knowledge.reading.parsed import UnreadableDocumentError
from tests.unit.pipelines.knowledge.documents import pdf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MEMORY_BYTES = 512 << 20
SECONDS = 1.0


def flate_bomb(times: int) -> bytes:
    """A PDF whose one page becomes so many times what it seems."""
    content = b"BT /F1 1 Tf " + b"(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj " * times + b"ET"
    packed = zlib.compress(content, 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</Font<</F1 <</Type/Font/Subtype/Type1"
            b"/BaseFont/Helvetica>>>>>>/Contents 4 0 R>>"
        ),
        b"<</Length %d/Filter/FlateDecode>>stream\n" % len(packed) + packed + b"\nendstream",
    ]
    out, offsets = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % number + each + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer <</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(out)
    return out + b"xref\n0 5\n0000000000 65535 f \n" + table + trailer


@pytest.fixture(scope="module")
def reader():
    with BoundedReader(MEMORY_BYTES, SECONDS) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "make", "reasons"),
    [
        ("bomb.pdf", lambda: flate_bomb(3_000_000), {"TOO_LARGE", "TOO_SLOW"}),
        ("nested.html", lambda: b"<div>" * 200_000 + b"deep text", {"TOO_SLOW", "TOO_LARGE"}),
        ("attributes.html", lambda: b"<p " + b" ".join(b"a%d=1" % n for n in range(300_000)) + b">", {"TOO_SLOW"}),
        ("tables.html", lambda: b"<table><tr><td>" * 20_000 + b"x", {"TOO_SLOW", "TOO_LARGE"}),
        ("lists.html", lambda: b"<ul><li>" * 100_000 + b"x", {"TOO_SLOW", "TOO_LARGE"}),
        ("nested.md", lambda: b"<div>" * 200_000 + b"deep text", {"TOO_SLOW", "TOO_LARGE"}),
        ("memory.txt", lambda: "🙂".encode() * 12_000_000, {"TOO_LARGE", "TOO_LONG"}),
        ("empty.txt", lambda: b" ", {"EMPTY"}),
        ("picture.png", lambda: b"x", {"UNKNOWN_FORMAT"}),
        ("no.pdf", lambda: b"PK\3\4", {"DAMAGED"}),
    ],
)
def test_a_document_that_bites_is_left_out_and_the_next_one_is_read(
    reader: BoundedReader, name: str, make: Callable[[], bytes], reasons: set[str]
):
    began = time.monotonic()
    with pytest.raises(UnreadableDocumentError) as caught:
        reader.read(name, make())
    assert caught.value.reason in reasons
    assert time.monotonic() - began < 60
    assert reader.read("boats.md", b"# Boats\n\nThey leave at nine.").title == "Boats"


def test_documents_come_out_as_they_are(reader: BoundedReader):
    document = reader.read("a.pdf", pdf([["The museum opens at nine."]]))
    assert [(block.text, block.headings, block.page) for block in document.blocks] == [
        ("The museum opens at nine.", (), 1)
    ]


def link_out(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def link_up(path: Path) -> None:
    (path.parent.parent.parent / "outside.txt").write_text("secret words")
    path.symlink_to("../../outside.txt")


def link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def dangling(path: Path) -> None:
    path.symlink_to("nowhere.txt")


BAD = [(link_out, "leads out"), (link_up, "leads out"), (link_to_device, "leads out"), (os.mkfifo, "a pipe")]


@pytest.mark.parametrize(("make", "problem"), [*BAD, (dangling, "cannot be opened")])
def test_a_document_that_is_no_file_of_the_folder_is_told_and_not_read(
    tmp_path: Path, make: Callable[[Path], None], problem: str
):
    folder = tmp_path / "agent" / "knowledge"
    folder.mkdir(parents=True)
    (folder / "good.txt").write_text("Boats leave at nine.")
    (folder / "..data").mkdir()
    (folder / "..data" / "mounted.txt").write_text("As Kubernetes mounts files.")
    (folder / "mounted.txt").symlink_to("..data/mounted.txt")
    make(folder / "bad.txt")
    problems = unreadable(folder)
    assert problems.keys() == {"bad.txt"}
    assert problem in problems["bad.txt"]
