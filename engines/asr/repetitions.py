"""Phrases that stand several times in a row in a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Repetition:
    """Items (words or tokens) that stand several times in a row.

    Attributes:
        first: index of the first item.
        size: items of the phrase.
        count: how many times it stands there, at least 2.
    """

    first: int
    size: int
    count: int

    @property
    def end(self) -> int:
        """One past the index of the last item."""
        return self.first + self.size * self.count


def repetition_at(items: Sequence[object], at: int, size: int) -> Repetition:
    """Return how often the phrase at ``at`` stands there; once repeats nothing."""
    phrase, count = items[at : at + size], 1
    while items[at + count * size : at + (count + 1) * size] == phrase:
        count += 1
    return Repetition(at, size, count)


def without_overlaps(length: int, best_at: Callable[[int], Repetition | None]) -> list[Repetition]:
    """Return the repetitions of a text in order; each item belongs to one at most.

    Args:
        length: items of the text.
        best_at: returns the repetition to take that begins at an item, or None.
    """
    found: list[Repetition] = []
    at = 0
    while at < length:
        best = best_at(at)
        if best is not None:
            found.append(best)
        at = best.end if best is not None else at + 1
    return found
