"""Slot boundaries at word edges: never inside "o'clock" or "7:30"."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.bert.slots import Slot

EDGE_PUNCTUATION = ".,!?;:…\"'()"
"""Marks which a speech recognizer puts around a value and which are no part of it."""

_WORD = re.compile(r"(?:[^\s,;!?…\"()\u2013\u2014]|(?<=\d),(?=\d{3}))+")
_POSSESSIVE = re.compile(r"['\u2019]s$", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s+([^\W_]+)")
_SAINT = re.compile(r"\b(?:st\.?|saint)\s+[^\W\d_]+$", re.IGNORECASE)
_NO_NOUNS = frozenset(
    [
        "a",
        "about",
        "after",
        "again",
        "an",
        "and",
        "around",
        "as",
        "at",
        "before",
        "but",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "have",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "me",
        "my",
        "near",
        "next",
        "now",
        "of",
        "off",
        "on",
        "or",
        "our",
        "please",
        "so",
        "that",
        "the",
        "then",
        "there",
        "this",
        "through",
        "til",
        "till",
        "to",
        "today",
        "tomorrow",
        "tonight",
        "under",
        "until",
        "we",
        "when",
        "where",
        "which",
        "while",
        "with",
        "without",
        "would",
        "you",
        "your",
    ]
)
"""Words that nobody owns: "domino's for dinner" is the place, "today's list" is the list of today."""


def whole_words(text: str, slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """Move both ends of every slot outwards to the edges of its words.

    The "'s" of an owner stays outside, unless it is part of a name: "today's list", but "in St. John's". Slots that
    meet in one word are not stretched over each other: the first has it.

    Args:
        text: the utterance.
        slots: in the order of the text, without overlaps.
    """
    words = [_edges(text, match.start(), match.end()) for match in _WORD.finditer(text)]
    found: list[Slot] = []
    for slot in slots:
        start = min([slot.start, *(first for first, last in words if first < slot.start < last)])
        end = max([slot.end, *(last for first, last in words if first < slot.end < last)])
        owner = text[start:end]
        if end > slot.end and _POSSESSIVE.sub("", owner) == text[start : slot.end] and _owns(text, start, end):
            end = slot.end
        start = max(start, found[-1].end if found else 0)
        if start < end:
            found.append(replace(slot, start=start, end=end))
    return tuple(found)


def _edges(text: str, start: int, end: int) -> tuple[int, int]:
    """Strip marks from a word, but for an abbreviation's full stop."""
    while start < end and text[start] in EDGE_PUNCTUATION:
        start += 1
    while end > start and text[end - 1] in EDGE_PUNCTUATION:
        end -= 1
    return start, end


def _owns(text: str, start: int, end: int) -> bool:
    """Return whether "'s" before ``end`` is a possessive."""
    if _SAINT.search(_POSSESSIVE.sub("", text[start:end])):
        return False
    following = _NEXT_WORD.match(text, end)
    return following is not None and following[1].lower() not in _NO_NOUNS
