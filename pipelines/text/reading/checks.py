"""Checks against known errors of answers: an overlooked "not", a wrong line."""

from __future__ import annotations

import re
from typing import NamedTuple

from pipelines.text.reading.passages import Passage

DISCOUNT = 0.5
"""What the score of a doubtful answer is multiplied by."""
MIN_AGREEMENT = 0.8
"""Score of an answer to a negated question that takes the place of another, as a share of that one's."""

_NEGATION = re.compile(
    r"\b(?:not|never|no|nor|neither|none|nobody|nothing|without|except|excluding|excluded|cannot|forbidden|prohibited"
    r"|banned|unless|instead|lacks?|refused?|exempt)\b|n['\u2019]t\b|\bun\w+ed\b",
    re.IGNORECASE,
)
_NEGATED_QUESTION = re.compile(r"\b(?:not|never|except|without|cannot|no longer)\b|n['\u2019]t\b", re.IGNORECASE)
_POLITE = re.compile(r"^\W*(?:why\s+)?(?:don|can|couldn|won|wouldn)['\u2019]t\s+you\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:[^.!?;\n,]|[.,](?=\w)|,(?!\s+(?:but|however|whereas|while|though)\b))+[.!?;,]?", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")
_COMMON_WORDS = (
    "a an and are at be by can did do does for from had has have how i in is it its many me much my of on one or our "
    "that the their there they this to was we were what when where which who whom whose why will with you your"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_MIN_LINES = 3
_MAX_LINE = 100


class Line(NamedTuple):
    """A piece of a text, from code point ``start`` to before ``end``."""

    start: int
    end: int


def is_negated(question: str) -> bool:
    """Return whether a question is negated."""
    return _NEGATED_QUESTION.search(question) is not None and not _POLITE.match(question)


def better_passage(question: str, text: str, start: int) -> tuple[bool, Passage | None]:
    """Tell whether an answer is doubtful, and what to read in its place.

    Args:
        question: that was asked.
        text: that was read.
        start: first code point of the answer.

    Returns:
        Whether it is, and the part of the text that fits the question better; None where there is none.
    """
    if is_negated(question):
        clauses = [Line(*match.span()) for match in _CLAUSE.finditer(text) if match[0].strip()]
        denying = [clause for clause in clauses if _NEGATION.search(text, clause.start, clause.end)]
        if any(clause.start <= start < clause.end for clause in denying):
            return False, None
        return True, _passage(text, denying)
    lines = _list_around(text, start)
    wanted = _words(question)
    shares = [len(wanted & _words(text[line.start : line.end])) for line in lines]
    own = next((share for share, line in zip(shares, lines, strict=True) if line.start <= start < line.end), 0)
    if not lines or max(shares) <= own:
        return False, None
    best = [line for line, share in zip(lines, shares, strict=True) if share == max(shares)]
    return True, _passage(text, best)


def _passage(text: str, parts: list[Line]) -> Passage | None:
    if not parts:
        return None
    passage = Passage()
    for part in parts:
        passage.take(text, part.start, part.end)
        passage.insert("\n")
    return passage


def _list_around(text: str, at: int) -> list[Line]:
    """Return the lines around a place, if they are a list."""
    first = text.rfind("\n\n", 0, at)
    last = text.find("\n\n", at)
    block = Line(first + 2 if first >= 0 else 0, last if last >= 0 else len(text))
    lines = [Line(*match.span()) for match in re.compile(r"[^\n]+").finditer(text, block.start, block.end)]
    listed = [line for line in lines if line.end - line.start <= _MAX_LINE]
    is_list = len(listed) >= _MIN_LINES and any(line.start <= at < line.end for line in listed)
    return listed if is_list else []


def _words(text: str) -> set[str]:
    """Return the telling words, without their endings."""
    found = (match[0].lower().replace("\u2019", "'").removesuffix("'s") for match in _WORD.finditer(text))
    return {word.rstrip("s") for word in found if word not in _COMMON}
