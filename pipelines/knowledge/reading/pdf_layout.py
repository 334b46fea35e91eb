"""Layout of a PDF page: table cells, and columns in reading order.

PDFium tells text in the order in which it was written to the page. Where lines of a page have gaps at the same places,
they are the rows of a table, whose cells are short, or lines of columns, which are filled with text.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from pipelines.knowledge.reading.parsed import table_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pypdfium2 import PdfTextPage

MAX_RUNS = 20_000
"""Pieces of text of a page; a page of more is read as it was written."""
_GAP = 0.9
"""Gap between two cells of a line, in heights of its text; a space takes a third of it."""
_MIN_ROWS = 2
_MIN_COLUMN_LINES = 3
_MIN_COLUMN_CHARACTERS = 18.0
"""Characters of a line, in the median, from which on a cell is a line of a column."""
_MIN_FILLED = 0.5
"""Share of the width between two columns that their lines fill, from which on they are text."""


class Rows(str):
    """Rows of a table, one a line, with their cells parted."""

    __slots__ = ()


class _Cell(NamedTuple):
    left: float
    right: float
    text: str


class _Line(NamedTuple):
    middle: float
    height: float
    cells: list[_Cell]


def read_lines(page: PdfTextPage) -> list[str] | None:
    """Return a page's lines in reading order; None if they are already."""
    count = page.count_rects()
    if count > MAX_RUNS:
        return None
    lines = _lines(page, count)
    if not any(len(line.cells) > 1 for line in lines):
        return None
    found: list[str] = []
    has_blocks = False
    for block in _blocks(lines):
        if len(block) < _MIN_ROWS:
            found += [" ".join(cell.text for cell in line.cells) for line in block]
            continue
        has_blocks = True
        found += _columns(block) if _are_columns(block) else [_table(block)]
    return found if has_blocks else None


def _lines(page: PdfTextPage, count: int) -> list[_Line]:
    """Return the lines from top to bottom, each cut into cells at its gaps."""
    runs = []
    for index in range(count):
        left, bottom, right, top = page.get_rect(index)
        text = page.get_text_bounded(left, bottom, right, top).strip()
        if text and top > bottom:
            runs.append(((bottom + top) / 2, top - bottom, _Cell(left, right, text)))
    runs.sort(key=lambda run: -run[0])
    lines: list[_Line] = []
    for middle, height, cell in runs:
        if lines and abs(lines[-1].middle - middle) < 0.5 * max(height, lines[-1].height):
            lines[-1].cells.append(cell)
        else:
            lines.append(_Line(middle, height, [cell]))
    return [line._replace(cells=_merged(line)) for line in lines]


def _merged(line: _Line) -> list[_Cell]:
    cells: list[_Cell] = []
    for cell in sorted(line.cells):
        if cells and cell.left - cells[-1].right < _GAP * line.height:
            before = cells.pop()
            cells.append(_Cell(before.left, max(before.right, cell.right), f"{before.text} {cell.text}"))
        else:
            cells.append(cell)
    return cells


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield runs of lines with aligned cells, and other lines one by one."""
    block: list[_Line] = []
    for line in lines:
        if block and not _continues(block[-1], line):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _continues(before: _Line, line: _Line) -> bool:
    if len(line.cells) != len(before.cells) or len(line.cells) == 1:
        return False
    return all(
        above.left < below.right and below.left < above.right
        for above, below in zip(before.cells, line.cells, strict=True)
    )


def _are_columns(block: Sequence[_Line]) -> bool:
    if len(block) < _MIN_COLUMN_LINES:
        return False
    lefts = [median(line.cells[number].left for line in block) for number in range(len(block[0].cells))]
    widths = [after - before for before, after in pairwise(lefts)]
    characters = [len(cell.text) for line in block for cell in line.cells]
    filled = [
        (cell.right - cell.left) / width
        for line in block
        for cell, width in zip(line.cells, widths, strict=False)  # The last column has none beside it.
    ]
    return median(characters) >= _MIN_COLUMN_CHARACTERS and median(filled) >= _MIN_FILLED


def _columns(block: Sequence[_Line]) -> list[str]:
    lines = [line.cells[number].text for number in range(len(block[0].cells)) for line in block]
    return [_with_soft_hyphen(line, after) for line, after in pairwise([*lines, ""])]


def _with_soft_hyphen(line: str, after: str) -> str:
    """Return a line whose last word goes on in the next one as PDFium tells it."""
    is_parted = line[-2:-1].isalpha() and line.endswith("-") and after[:1].islower()
    return f"{line[:-1]}\N{SOFT HYPHEN}" if is_parted else line


def _table(block: Sequence[_Line]) -> Rows:
    return Rows("\n".join(table_row([cell.text for cell in line.cells]) for line in block))
