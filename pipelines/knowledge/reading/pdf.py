"""Reads PDF files with PDFium: text page by page, headings from the bookmarks."""

from __future__ import annotations

import contextlib
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pypdfium2
from pypdfium2 import raw

from pipelines.knowledge.reading.parsed import Block, Outline, ParsedDocument, UnreadableDocumentError, one_line
from pipelines.knowledge.reading.pdf_layout import Rows, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_PAGES = 5_000
_PASSWORD = raw.FPDF_ERR_PASSWORD
_MIN_CHARACTERS_PER_PAGE = 10
"""Characters below which a page that holds a picture is taken for a scan."""
_SOFT_HYPHEN = re.compile("[\u00ad\u0002\ufffe]\\s*")
"""What PDFium writes for a hyphen at the end of a line, inside a word."""
_REPEATED_SHARE = 0.5
"""Share of the pages on which the first or last line must stand to be a header or footer."""
_MIN_REPEATED = 3
_MAX_BOOKMARKS = 10_000


class _Bookmark(NamedTuple):
    level: int
    title: str


def read_pdf(data: bytes) -> ParsedDocument:
    """Read a PDF file; see ``pipelines.knowledge.reading.formats.read``."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise UnreadableDocumentError(
                "ENCRYPTED", "it is encrypted: save it without a password, as with `qpdf --decrypt`"
            ) from error
        raise UnreadableDocumentError("DAMAGED", "it is no whole PDF file: save or export it again") from error
    with contextlib.closing(document):
        if len(document) > MAX_PAGES:
            raise UnreadableDocumentError(
                "TOO_LONG", f"it has {len(document):,} pages: split it into files of at most {MAX_PAGES:,}"
            )
        try:
            return _read(document)
        except pypdfium2.PdfiumError as error:
            raise UnreadableDocumentError("DAMAGED", "a page of it is damaged: save or export it again") from error


def _read(document: pypdfium2.PdfDocument) -> ParsedDocument:
    pages: list[list[str]] = []
    scanned = 0
    for number in range(len(document)):
        with contextlib.closing(document[number]) as page, contextlib.closing(page.get_textpage()) as text:
            lines = read_lines(text)
            if lines is None:
                lines = [line.strip() for line in text.get_text_range().replace("\r", "").split("\n")]
            if sum(map(len, lines)) < _MIN_CHARACTERS_PER_PAGE and _has_picture(page):
                scanned += 1
            pages.append(lines)
    if scanned and scanned * 2 >= len(pages):
        raise UnreadableDocumentError(
            "SCANNED",
            f"{scanned} of its {len(pages)} pages are pictures without text: recognize their text first, "
            "as with `ocrmypdf`",
        )
    title = one_line(document.get_metadata_value("Title"))
    return ParsedDocument(title, tuple(_blocks(_without_repeated(pages), _bookmarks(document))))


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    return next(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3), None) is not None


def _bookmarks(document: pypdfium2.PdfDocument) -> dict[int, list[_Bookmark]]:
    """Return the bookmarks by the index of the page that they lead to."""
    found: dict[int, list[_Bookmark]] = defaultdict(list)
    for number, bookmark in enumerate(document.get_toc()):
        if number >= _MAX_BOOKMARKS:
            break
        place = bookmark.get_dest()
        index = place.get_index() if place else None
        if index is not None:
            found[index].append(_Bookmark(bookmark.level + 1, one_line(bookmark.get_title())))
    return found


def _blocks(pages: Sequence[Sequence[str]], bookmarks: Mapping[int, Sequence[_Bookmark]]) -> Iterator[Block]:
    outline = Outline()
    for index, lines in enumerate(pages):
        waiting = list(bookmarks.get(index, ()))
        # Headings that no line of the page shows hold all of it.
        shown = {one_line(line).casefold() for line in lines}
        for bookmark in [each for each in waiting if each.title.casefold() not in shown]:
            outline.enter(*bookmark)
            waiting.remove(bookmark)
        paragraph: list[str] = []
        for line in lines:
            heading = next((each for each in waiting if each.title.casefold() == one_line(line).casefold()), None)
            if heading or not line or isinstance(line, Rows):
                yield from _joined(paragraph, outline, index)
                paragraph = []
            if heading:
                outline.enter(*heading)
                waiting.remove(heading)
            elif isinstance(line, Rows):
                yield Block(str(line), outline.path, index + 1)
            elif line:
                paragraph.append(line)
        yield from _joined(paragraph, outline, index)


def _joined(lines: Sequence[str], outline: Outline, index: int) -> Iterator[Block]:
    if text := one_line(_SOFT_HYPHEN.sub("", "\n".join(lines))):
        yield Block(text, outline.path, index + 1)


def _without_repeated(pages: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Remove headers and footers: lines repeated on most pages."""
    filled = [[line for line in lines if line] for lines in pages]
    kept: list[Sequence[str]] = list(filled)
    for end in (0, -1):
        counts = Counter(_pattern(lines[end]) for lines in filled if lines)
        repeated = {
            pattern
            for pattern, count in counts.items()
            if count >= _MIN_REPEATED and count > _REPEATED_SHARE * len(pages)
        }
        kept = [
            (lines[1:] if end == 0 else lines[:-1]) if lines and _pattern(lines[end]) in repeated else lines
            for lines in kept
        ]
    return kept


def _pattern(line: str) -> str:
    return re.sub(r"\d+", "#", line)
