"""Reads Word documents (DOCX)."""

from __future__ import annotations

import io
import re
import zipfile
from typing import TYPE_CHECKING

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.table import Table
from lxml.etree import LxmlError

from pipelines.knowledge.reading.parsed import (
    Block,
    Outline,
    ParsedDocument,
    UnreadableDocumentError,
    one_line,
    table_row,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docx.document import Document
    from docx.text.paragraph import Paragraph

MAX_UNPACKED_BYTES = 256 * 1024 * 1024
"""Bytes of all parts of a document together, unpacked."""
_HEADING = re.compile(r"heading (\d)")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of what Word encrypts, and of documents from before 2007."""


def read_docx(data: bytes) -> ParsedDocument:
    """Read a Word document; see ``pipelines.knowledge.reading.formats.read``."""
    if data.startswith(_OLE):
        raise UnreadableDocumentError(
            "ENCRYPTED", "it is encrypted, or older than Word 2007: save it as DOCX without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            raise UnreadableDocumentError(
                "TOO_LARGE", f"it unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB: split the document"
            )
        document = docx.Document(io.BytesIO(data))
        # Word names a document by its template where nobody gave it a title: "" and names of files are common.
        return ParsedDocument(one_line(document.core_properties.title or ""), tuple(_blocks(document)))
    except (zipfile.BadZipFile, PackageNotFoundError, LxmlError, KeyError, ValueError, EOFError) as error:
        if isinstance(error, UnreadableDocumentError):
            raise
        raise UnreadableDocumentError(
            "DAMAGED", f"it is no whole DOCX file ({type(error).__name__}): open it in Word and save it again"
        ) from error


def _blocks(document: Document) -> Iterator[Block]:
    outline = Outline()
    for part in document.iter_inner_content():
        if isinstance(part, Table):
            rows = [_cells(part, number) for number in range(len(part.rows))]
            if text := "\n".join(table_row(row) for row in rows if any(map(str.strip, row))):
                yield Block(text, outline.path)
        elif level := _level(part):
            outline.enter(level, part.text)
        elif text := part.text.strip():
            yield Block(text, outline.path)


def _level(paragraph: Paragraph) -> int | None:
    """Return a heading's level, from 1; None for others. Follows base styles."""
    style = paragraph.style
    while style is not None:
        name = (style.name or "").lower()
        if name == "title":
            return 1
        if heading := _HEADING.match(name):
            return int(heading[1])
        style = style.base_style
    return None


def _cells(table: Table, row: int) -> list[str]:
    """Return the texts of a row; a cell that spans several columns stands once."""
    cells: list[str] = []
    previous = None
    for cell in table.rows[row].cells:
        if cell._tc is not previous:  # noqa: SLF001 - python-docx has no other way to tell a spanning cell
            cells.append(cell.text)
        previous = cell._tc  # noqa: SLF001
    return cells
