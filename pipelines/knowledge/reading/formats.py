"""Choice of a document's reader by file name, and bounds."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from pipelines.knowledge.reading.docx import read_docx
from pipelines.knowledge.reading.html import read_html
from pipelines.knowledge.reading.markdown import read_markdown
from pipelines.knowledge.reading.parsed import ParsedDocument, UnreadableDocumentError
from pipelines.knowledge.reading.pdf import read_pdf
from pipelines.knowledge.reading.plain import read_plain

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_CHARACTERS = 10_000_000
"""Characters of one document, all blocks together."""
READERS: dict[str, Callable[[bytes], ParsedDocument]] = {
    ".txt": read_plain,
    ".text": read_plain,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
}
"""Reader of each ending, in small letters."""


def is_readable(name: str) -> bool:
    """Return whether there is a reader for files of this name."""
    return PurePath(name).suffix.lower() in READERS


def read(name: str, data: bytes) -> ParsedDocument:
    """Read a document.

    Args:
        name: of its file; the ending tells the format.
        data: the file.

    Returns:
        The text; a document without a title has the name of its file.

    Raises:
        UnreadableDocumentError: it is empty, too large, damaged, encrypted, scanned, or of another format.
    """
    reader = READERS.get(PurePath(name).suffix.lower())
    if reader is None:
        raise UnreadableDocumentError(
            "UNKNOWN_FORMAT", f"its format is not read: use one of {', '.join(READERS)}, or leave it out"
        )
    if len(data) > MAX_FILE_BYTES:
        raise UnreadableDocumentError("TOO_LARGE", f"it is larger than {MAX_FILE_BYTES >> 20} MiB: split the document")
    if not data.strip():
        raise UnreadableDocumentError("EMPTY", "it is empty: leave it out")
    parsed = reader(data)
    if not parsed.blocks:
        raise UnreadableDocumentError("EMPTY", "it holds no text: leave it out")
    if sum(len(block.text) for block in parsed.blocks) > MAX_CHARACTERS:
        raise UnreadableDocumentError("TOO_LONG", f"it has over {MAX_CHARACTERS:,} characters: split the document")
    return parsed if parsed.title else ParsedDocument(PurePath(name).stem.replace("_", " "), parsed.blocks)
