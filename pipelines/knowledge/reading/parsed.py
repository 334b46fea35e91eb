"""Parsed documents of any format, and refusals."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.errors import InvalidInputError

MAX_HEADING_CHARACTERS = 200
"""Longest heading that is kept whole; what is longer is cut."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item or table.

    Attributes:
        text: of the block; lines of a table stand below each other, with ``|`` between cells.
        headings: titles of the sections that hold it, the outermost first.
        page: number of the page that it begins on, from 1; None: the format has no pages.
    """

    text: str
    headings: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The text of a document.

    Attributes:
        title: as the document gives it; "" where it gives none.
        blocks: in reading order, none of them empty.
    """

    title: str
    blocks: tuple[Block, ...]


class UnreadableDocumentError(InvalidInputError):
    """A document has no text that can be read; the message says what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__("document", reason, message)


class Outline:
    """Stack of the headings that hold the place in a document where a reader is."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    @property
    def path(self) -> tuple[str, ...]:
        """Headings, the outermost first."""
        return tuple(heading for _, heading in self._open)

    def enter(self, level: int, heading: str) -> None:
        """Begin a section; sections of the same or a deeper level end."""
        self._open = [kept for kept in self._open if kept[0] < level]
        if heading := one_line(heading)[:MAX_HEADING_CHARACTERS]:
            self._open.append((level, heading))


def one_line(text: str) -> str:
    """Return a text with single spaces in place of all white space."""
    return " ".join(text.split())


def table_row(cells: list[str]) -> str:
    """Return a table row in Markdown, for cell-by-cell answering."""
    return f"| {' | '.join(one_line(cell).replace('|', '/') for cell in cells)} |"
