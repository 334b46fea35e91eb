"""Incremental building of a knowledge base from a folder."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pipelines.errors import InvalidInputError
from pipelines.knowledge.reading.bounded import BoundedReader
from pipelines.knowledge.reading.formats import MAX_FILE_BYTES, is_readable
from pipelines.knowledge.reading.parsed import UnreadableDocumentError
from pipelines.knowledge.reading.passages import cut
from pipelines.knowledge.store.port import StoredDocument
from pipelines.regular_files import UnfitFileError, read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from pipelines.knowledge.reading.parsed import ParsedDocument
    from pipelines.knowledge.reading.passages import Passage
    from pipelines.knowledge.store.port import KnowledgeStore

    Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]

READING_VERSION = "2"
"""To be raised when documents are read or cut in another way: bases are then built anew."""
MAX_DOCUMENTS = 100_000
_EMBEDDED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a build, after every document.

    Attributes:
        done: documents that are dealt with.
        total: documents that the folder has.
        path: of the last one, relative to the folder.
        passages: of the last one; None: it has not changed, or cannot be read.
        problem: why the last one cannot be read, and what to do; None: it can.
    """

    done: int
    total: int
    path: str
    passages: int | None = None
    problem: str | None = None


@dataclass(slots=True)
class BuildReport:
    """Summary of a build.

    Attributes:
        read: documents that are new or changed.
        unchanged: documents that were in the base already.
        removed: documents that were in the base, and are no longer in the folder or cannot be read any more.
        passages: that were stored.
        problems: by path, why a document is left out and what to do.
        ignored: files of other formats.
    """

    read: int = 0
    unchanged: int = 0
    removed: int = 0
    passages: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    ignored: int = 0


def embedded_text(title: str, passage: Passage) -> str:
    """Return what of a passage is embedded: what it is about, and what it says."""
    return "\n".join((title, *passage.headings, passage.text))


def build(
    folder: Path, store: KnowledgeStore, embed: Embed, progress: Callable[[Progress], None] = lambda _: None
) -> BuildReport:
    """Bring a base up to date with a folder's documents.

    Args:
        folder: of the documents; hidden files and folders are left out.
        store: the base, written document by document: an interrupted build goes on where it was.
        embed: gives a unit vector for each text.
        progress: is told of every document.

    Raises:
        InvalidInputError: there is no such folder, or it has no document or too many.
        KnowledgeStoreError: the base cannot be written.
    """
    paths, ignored = _documents(folder)
    report = BuildReport(ignored=ignored)
    before = store.hashes()
    kept: set[str] = set()
    with BoundedReader() as reader:
        for number, path in enumerate(paths, 1):
            name = path.relative_to(folder).as_posix()
            count, problem = None, None
            try:
                data = _content(path, folder)
                content_hash = hashlib.sha256(READING_VERSION.encode() + data).hexdigest()
                if before.get(name) == content_hash:
                    report.unchanged += 1
                else:
                    count = _store(store, name, reader.read(name, data), content_hash, embed)
                    report.read += 1
                    report.passages += count
                kept.add(name)
            except UnreadableDocumentError as error:
                problem = report.problems[name] = str(error)
            progress(Progress(number, len(paths), name, count, problem))
    gone = sorted(before.keys() - kept)
    store.remove(gone)
    report.removed = len(gone)
    return report


def unreadable(folder: Path) -> dict[str, str]:
    """Read a folder's documents; return the unreadable ones, with the cure.

    Raises:
        InvalidInputError: there is no such folder, or it has no document or too many.
    """
    problems: dict[str, str] = {}
    with BoundedReader() as reader:
        for path in _documents(folder)[0]:
            name = path.relative_to(folder).as_posix()
            try:
                reader.read(name, _content(path, folder))
            except UnreadableDocumentError as error:
                problems[name] = str(error)
    return problems


def _documents(folder: Path) -> tuple[list[Path], int]:
    """List the documents below a folder in order, and count the other files."""
    if not folder.is_dir():
        raise InvalidInputError("knowledge", "NO_FOLDER", f"{folder} is no folder: name the one of the documents")
    files = sorted(
        path
        for path in folder.rglob("*")
        if not path.is_dir() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    documents = [path for path in files if is_readable(path.name)]
    if not documents:
        raise InvalidInputError(
            "knowledge", "NO_DOCUMENTS", f"{folder} has no documents: put text, Markdown, HTML, PDF or DOCX files there"
        )
    if len(documents) > MAX_DOCUMENTS:
        raise InvalidInputError(
            "knowledge",
            "TOO_MANY_DOCUMENTS",
            f"{folder} has {len(documents):,} documents: build bases of at most {MAX_DOCUMENTS:,}",
        )
    return documents, len(files) - len(documents)


def _content(path: Path, folder: Path) -> bytes:
    try:
        return read_regular(path, MAX_FILE_BYTES, folder)
    except UnfitFileError as error:
        raise UnreadableDocumentError("NO_FILE", str(error)) from error
    except OSError as error:
        raise UnreadableDocumentError(
            "UNREADABLE", f"it cannot be opened ({error.strerror}): check its rights"
        ) from error


def _store(store: KnowledgeStore, name: str, parsed: ParsedDocument, content_hash: str, embed: Embed) -> int:
    passages = cut(parsed)
    vectors = [embed(texts) for texts in _batches([embedded_text(parsed.title, passage) for passage in passages])]
    store.replace(StoredDocument(name, parsed.title, content_hash), passages, np.concatenate(vectors))
    return len(passages)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while batch := list(itertools.islice(rest, _EMBEDDED_AT_ONCE)):
        yield batch
