"""Rewritten document, with the source of each piece."""

from __future__ import annotations

import bisect
from typing import NamedTuple


class _Piece(NamedTuple):
    """Piece: code points from ``at`` on; ``source`` in the document, or None."""

    at: int
    length: int
    source: int | None


class Passage:
    """A text that is put together of pieces of a document and of words of our own."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._pieces: list[_Piece] = []
        self._length = 0

    @property
    def text(self) -> str:
        """The text as it is read."""
        return "".join(self._parts)

    def take(self, document: str, start: int, end: int) -> None:
        """Add a piece of the document."""
        self._add(document[start:end], start)

    def insert(self, text: str) -> None:
        """Add words that the document does not have."""
        self._add(text, None)

    def source(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the document's span of ``start`` to ``end`` (exclusive), or None."""
        first = bisect.bisect_right(self._pieces, start, key=lambda piece: piece.at) - 1
        places: list[tuple[int, int]] = []
        for piece in self._pieces[max(first, 0) :]:
            if piece.at >= end:
                break
            if piece.source is not None:
                begin, stop = max(start, piece.at), min(end, piece.at + piece.length)
                if begin < stop:
                    places.append((piece.source + begin - piece.at, piece.source + stop - piece.at))
        # Pieces that stand in another order there, as a heading before a cell, are not one passage: the last is meant.
        kept = places[-1:]
        for place in reversed(places[:-1]):
            if place[1] <= kept[0][0] and kept[0][0] - place[1] <= 1:
                kept.insert(0, place)
        return (kept[0][0], kept[-1][1]) if kept else None

    def _add(self, text: str, source: int | None) -> None:
        if text:
            self._parts.append(text)
            self._pieces.append(_Piece(self._length, len(text), source))
            self._length += len(text)
