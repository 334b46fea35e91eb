"""Rows of lists of prices and hours: "Study room | free for members".

A reader of sentences knows little of tables: it takes any number for a price. What a row is about stands in its first
cell, whose words are compared with those of the question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.stages.answer_kinds import asks_for_hours, asks_for_money, is_amount, is_hour
from pipelines.stages.noun_phrases import is_content, words_of
from pipelines.text.stems import stem

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_SHARE = 0.4
"""Of the words of a row's first cell that a question has to have."""
_ASKING = frozenset(
    map(
        stem,
        (
            "cost",
            "price",
            "pay",
            "charge",
            "much",
            "fee",
            "money",
            "take",
            "euro",
            "pound",
            "open",
            "close",
            "late",
            "time",
            "early",
            "hour",
        ),
    )
)

_VAGUE = frozenset(map(stem, ("anything", "something", "nothing", "extra", "need", "have")))


def row_in(text: str, question: str, topic: str) -> tuple[int, int, float] | None:
    """Return the price or the hours that a question asks for, in a text with rows.

    Args:
        text: of a passage; rows have cells between ``|``.
        question: what is asked.
        topic: further words of what it is about.

    Returns:
        Start and end of what is asked for, and the share of the row's words that were asked for; None: there is none.
    """
    is_wanted = is_amount if asks_for_money(question) else is_hour if asks_for_hours(question) else None
    if is_wanted is None:
        return None
    asked = _stems(question)
    # The topic alone is meant where the question names nothing itself.
    wanted = asked or _stems(topic)
    rows = ((_share(cells[0][0], wanted), cells) for cells in _rows(text))
    best = max(rows, key=lambda row: row[0], default=(0.0, []))
    told = [(cell, start) for cell, start in best[1][1:] if is_wanted(cell)]
    if best[0] < MIN_SHARE or not told:
        return None
    # A price stands last, and the first hours are those of most days.
    cell, start = told[-1 if is_wanted is is_amount else 0]
    return start, start + len(cell), best[0]


def names_nothing(question: str) -> bool:
    """Return whether a question leaves out what it is about: "what does it cost"."""
    return _stems(question) <= _VAGUE


def _rows(text: str) -> Iterator[list[tuple[str, int]]]:
    """Yield the cells of each row with the places where they begin."""
    for line in re.finditer(r"[^\n]*\|[^\n]*", text):
        cells = [
            (found[0].strip(), found.start() + len(found[0]) - len(found[0].lstrip()))
            for found in re.finditer(r"[^|\n]+", text[: line.end()][line.start() :])
        ]
        yield [(cell, line.start() + start) for cell, start in cells if cell]


def _share(label: str, wanted: frozenset[str]) -> float:
    words = _stems(label)
    return len(words & wanted) / len(words) if words else 0.0


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word.lower) for word in words_of(text) if is_content(word)) - _ASKING
