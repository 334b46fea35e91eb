"""Tables read row by row: "Room Green: Price 95; Size 25."."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from pipelines.text.reading.passages import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MIN_ROWS = 2
"""Rows below the headings from which lines are a table."""
MAX_CELL = 60
"""Code points of the longest cell of a table whose cells are parted by commas."""
_REMEMBERED = 8
"""Documents whose passages are remembered: a conversation asks the same ones again and again."""
_RULE = re.compile(r"[\s|:+=-]+")


class _Cell(NamedTuple):
    start: int
    end: int


class _Table(NamedTuple):
    """Rows of cells, headings first, at ``start`` to ``end`` (exclusive)."""

    start: int
    end: int
    rows: Sequence[Sequence[_Cell]]


@functools.lru_cache(maxsize=_REMEMBERED)
def read_tables(document: str) -> Passage:
    """Make a passage in which every table of a document is written as sentences."""
    passage, at = Passage(), 0
    for table in _tables(document):
        passage.take(document, at, table.start)
        headings = table.rows[0]
        for row in table.rows[1:]:
            _write_row(passage, document, headings, row)
        at = table.end
    passage.take(document, at, len(document))
    return passage


def _write_row(passage: Passage, document: str, headings: Sequence[_Cell], row: Sequence[_Cell]) -> None:
    for number, (heading, cell) in enumerate(zip(headings, row, strict=True)):
        passage.insert("" if number == 0 else ": " if number == 1 else "; ")
        passage.insert(f"{document[heading.start : heading.end]} ")
        passage.take(document, cell.start, cell.end)
    passage.insert(".\n")


def _tables(document: str) -> Iterator[_Table]:
    """Find lines that have the same number of cells."""
    lines = [match.span() for match in re.finditer(r"[^\n]*", document) if match[0]]
    first = 0
    while first < len(lines):
        for separator in ("|", "\t", ","):
            rows, last = _rows(document, lines, first, separator)
            if len(rows) > MIN_ROWS:
                yield _Table(lines[first][0], lines[last - 1][1], rows)
                first = last - 1
                break
        first += 1


def _rows(document: str, lines: Sequence[tuple[int, int]], first: int, separator: str) -> tuple[list[list[_Cell]], int]:
    """Read rows from a line on, and return them with the number of the line behind."""
    rows: list[list[_Cell]] = []
    for number in range(first, len(lines)):
        start, end = lines[number]
        if rows and separator == "|" and _RULE.fullmatch(document, start, end):
            continue
        if number > first and document[lines[number - 1][1] : start].count("\n") > 1:
            return rows, number
        cells = list(_cells(document, start, end, separator))
        too_long = separator == "," and any(cell.end - cell.start > MAX_CELL for cell in cells)
        is_short = len(cells) < (3 if separator == "," else 2)
        if is_short or too_long or (rows and len(cells) != len(rows[0])):
            return rows, number
        rows.append(cells)
    return rows, len(lines)


def _cells(document: str, start: int, end: int, separator: str) -> Iterator[_Cell]:
    """Part a line, without the separators and spaces at its edges."""
    while separator == "|" and end > start and document[end - 1] in " |\r":
        end -= 1
    while separator == "|" and start < end and document[start] in " |":
        start += 1
    while start <= end:
        stop = document.find(separator, start, end)
        stop = end if stop < 0 else stop
        text = document[start:stop]
        leading = len(text) - len(text.lstrip())
        yield _Cell(start + leading, start + max(leading, len(text.rstrip())))
        start = stop + 1
