"""Questions that a document answers itself, as lists of frequent questions do.

A question is a line of its own, or the first part of one whose rest begins with "A:". The answer stands behind or below
it. A model that reads passages likes best what looks most like the question: the question itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz import fuzz

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MIN_RATIO = 85.0
"""Least similarity, 0 to 100, of what is asked to a question of the document that it is taken for."""
MAX_ANSWER_CHARACTERS = 300
"""Of an answer; of a longer paragraph the sentences that fit are taken, and the first one in any case."""
_MIN_QUESTION_WORDS = 3

_MARKUP = r"[ \t>#*_~`|-]*"
_ASKS = re.compile(
    rf"^{_MARKUP}(?:\d{{1,3}}[.)] *)?{_MARKUP}(?:Q(?:uestion)?(?: *\d{{1,3}})?[:.)] *)?(?P<question>[^?\n]{{3,300}}\?)"
    rf"(?:{_MARKUP}$|{_MARKUP}(?=A(?:nswer)?[:.)] ))",
    re.MULTILINE | re.IGNORECASE,
)
_ANSWERS = re.compile(rf"\s*{_MARKUP}(?:A(?:nswer)?[:.)] *)?{_MARKUP}", re.IGNORECASE)
_PARAGRAPH_END = re.compile(r"\n[ \t]*(?:\n|$)|\n[ \t]*(?=[#>*-]|\d{1,3}[.)] )")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_TRAILING = re.compile(r"[\s*_~`|]+$")
_HEADING = re.compile(r"\s*#{1,6} ")


class Entry(NamedTuple):
    """FAQ entry: question and answer as code points, end exclusive."""

    question: tuple[int, int]
    answer: tuple[int, int]


def read_entries(text: str) -> list[Entry]:
    """Return the questions of a text that are answered in it, in order."""
    return list(_entries(text)) if "?" in text else []


def asked_for(text: str, entries: Sequence[Entry], question: str) -> tuple[Entry, float] | None:
    """Return the entry of a question with its similarity, 0 to 1, or None."""
    plain = _plain(question)
    rated = [(fuzz.ratio(_plain(text[slice(*entry.question)]), plain), entry) for entry in entries]
    ratio, best = max(rated, key=lambda pair: pair[0], default=(0.0, None))
    return (best, ratio / 100) if best is not None and ratio >= MIN_RATIO else None


def beside(entries: Sequence[Entry], start: int, end: int) -> Entry | None:
    """Return the entry whose question overlaps a passage, or None."""
    return next((entry for entry in entries if entry.question[0] < end and start < entry.question[1]), None)


def _entries(text: str) -> Iterator[Entry]:
    found = [one for one in _ASKS.finditer(text) if len(one["question"].split()) >= _MIN_QUESTION_WORDS]
    for number, one in enumerate(found):
        stop = found[number + 1].start() if number + 1 < len(found) else len(text)
        opening = _ANSWERS.match(text, one.end())
        assert opening is not None
        begin = opening.end()
        if begin >= stop or _HEADING.match(text, one.end()):
            continue
        ended = _PARAGRAPH_END.search(text, begin, stop)
        end = begin + len(_TRAILING.sub("", text[begin : ended.start() if ended else stop]))
        if end > begin:
            yield Entry(one.span("question"), (begin, _short(text, begin, end)))


def _short(text: str, begin: int, end: int) -> int:
    """Return where the sentences of an answer end that are told."""
    if end - begin <= MAX_ANSWER_CHARACTERS:
        return end
    ends = [one.end() for one in _SENTENCE_END.finditer(text, begin, end)] or [end]
    return max((each for each in ends if each - begin <= MAX_ANSWER_CHARACTERS), default=ends[0])


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))
