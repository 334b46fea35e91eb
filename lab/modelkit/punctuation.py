"""Well-written text as training material for punctuation: its words as a speech recognizer gives them, with labels."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from engines.bert.punctuating import CAPITAL, LOWER, MARKS, UPPER, case_of, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engines.bert.punctuating import Word

NO_MARK, COMMA, PERIOD, QUESTION = range(len(MARKS))
IGNORED = -100
"""Label of what is neither learned nor scored."""

_ENDS = (PERIOD, QUESTION)
_PLACEHOLDER = re.compile(r"\(?\bLINKREMOVED\b\)?")
_GLUED = re.compile(r"(?<=[a-z][.!?,])(?=[A-Z](?:[a-z']|\b))")
_ELLIPSIS = re.compile(r"\.\.|…")
_PAUSE = re.compile(r"[,;:]|\s[–—-]|[–—]|--")  # noqa: RUF001 - dashes of texts
_MAX_LOWER_STARTS = 0.1
_MAX_UPPER = 0.2
_MIN_SEEN = 4
_MIN_SHARE = 0.6


class LabelledWord(NamedTuple):
    """A word with its labels.

    Attributes:
        text: in lower case, as the network reads it.
        written: as it stands in the text.
        mark: index into :data:`engines.bert.punctuating.MARKS` of what follows it.
        case: one of the cases of :mod:`engines.bert.punctuating`, or :data:`IGNORED`.
    """

    text: str
    written: str
    mark: int
    case: int


def label(text: str) -> list[LabelledWord]:
    """Labels the words of a text up to the end of its last whole sentence; none where it is carelessly written.

    Exclamation marks count as full stops; semicolons, colons and dashes as commas; brackets as nothing.
    """
    words = split_words(_GLUED.sub(" ", _PLACEHOLDER.sub(" ", text)))
    labelled = [_label(word, after) for word, after in zip_longest(words, words[1:])]
    while labelled and labelled[-1].mark not in _ENDS:
        labelled.pop()
    return labelled if _is_careful(labelled) else []


def collect_spellings(words: Iterable[LabelledWord]) -> dict[str, str]:
    """Finds the words that are mostly written with capitals inside, such as "iPhone", by their lower case."""
    seen: Counter[str] = Counter()
    forms: Counter[tuple[str, str]] = Counter()
    for word in words:
        seen[word.text] += 1
        if word.case == IGNORED:
            forms[word.text, word.written] += 1
    return {
        text: written
        for (text, written), count in sorted(forms.items())
        if text.isalpha() and count >= _MIN_SEEN and count >= _MIN_SHARE * seen[text]
    }


def _label(word: Word, following: Word | None) -> LabelledWord:
    case = case_of(word.text)
    goes_on = following is not None and following.text[0].islower()
    mark = _mark(word.gap, goes_on=goes_on)
    return LabelledWord(word.text.lower(), word.text, mark, IGNORED if case is None else case)


def _mark(gap: str, *, goes_on: bool) -> int:
    if "?" in gap:
        return QUESTION
    if _ELLIPSIS.search(gap) and goes_on:
        return COMMA
    if "." in gap or "!" in gap or "…" in gap:
        return PERIOD
    return COMMA if _PAUSE.search(gap) else NO_MARK


def _is_careful(words: list[LabelledWord]) -> bool:
    """Whether sentences begin with capitals, "I" is one, and not much is shouted."""
    if not words or any(word.written == "i" for word in words):
        return False
    starts = [words[0], *(after for word, after in pairwise(words) if word.mark in _ENDS)]
    lower = sum(word.case == LOWER and word.text[0].isalpha() for word in starts)
    upper = sum(word.case == UPPER for word in words)
    return lower <= _MAX_LOWER_STARTS * len(starts) and upper <= max(1, _MAX_UPPER * len(words))


def is_question(words: list[LabelledWord]) -> bool:
    """Whether a labelled text is one question, written as such."""
    ends = [word.mark for word in words if word.mark in _ENDS]
    return ends == [QUESTION] and words[0].case in (CAPITAL, UPPER)
