"""Capitals and punctuation, from a network's logits for each word.

The network labels each word with the mark that follows it and with its case, as NeMo's "Punctuation and Capitalization
Model" does, and after "FullStop: Multilingual Deep Models for Punctuation Prediction" (Guhr et al., 2021). What a text
already has stays: its figures, its own marks, and every word that has a capital.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

MARKS = ("", ",", ".", "?")
"""What may follow a word, in the order of the network's outputs."""
CASES = LOWER, CAPITAL, UPPER = range(3)
"""How a word may be written, in the order of the network's outputs: the first letter of a capital one is upper."""

_ENDS = (2, 3)
_RUN = re.compile(r"[^\s/–—-]+")  # noqa: RUF001 - dashes of texts
_EDGES = "\"'“”‘’«»()[]{}<>*_~.,!?;:…¿¡"  # noqa: RUF001 - quotation marks of texts
_OWN_MARK = re.compile(r"[.,!?;:…/–—-]")  # noqa: RUF001
_OWN_END = re.compile(r"[.!?…]")
_LETTER = re.compile(r"[^\W\d_]")
_APOSTROPHE = re.compile(r"['’]")  # noqa: RUF001
_NO_END = frozenset("mr mrs ms dr st prof vs etc jr sr inc ltd co vol".split())  # noqa: SIM905 - easier to read
"""Words whose full stop does not end a sentence."""


class Word(NamedTuple):
    """Word of a text: code points ``start`` to ``end``, without marks around it.

    Attributes:
        gap: what stands between it and the next word, or the end of the text.
    """

    text: str
    start: int
    end: int
    gap: str


@dataclass(frozen=True, slots=True)
class Window:
    """Words ``first`` to ``last`` (exclusive) that are read together.

    Attributes:
        kept: first and last (exclusive) of those that this window decides; of every word exactly one window does.
    """

    first: int
    last: int
    kept: tuple[int, int]


def split_words(text: str) -> list[Word]:
    """Find the words of a text, split at spaces, dashes and slashes."""
    spans: list[tuple[int, int]] = []
    for run in _RUN.finditer(text):
        core = run[0].strip(_EDGES)
        if any(character.isalnum() for character in core):
            start = run.start() + run[0].index(core)
            spans.append((start, start + len(core)))
    edges = pairwise((*spans, (len(text), len(text))))
    return [Word(text[start:end], start, end, text[end:after]) for (start, end), (after, _) in edges]


def cut_windows(lengths: Sequence[int], room: int, overlap: int) -> list[Window]:
    """Cut a text into windows, each word kept where it is far from the edges.

    Args:
        lengths: tokens of each word, none more than ``room``.
        room: most tokens of a window.
        overlap: words that two neighbouring windows share, fewer where they are long.
    """
    spans: list[tuple[int, int]] = []
    first = last = 0
    while last < len(lengths):
        used = sum(lengths[first:last])
        while last < len(lengths) and used + lengths[last] <= room:
            used += lengths[last]
            last += 1
        spans.append((first, last))
        # The next one has room for one new word at least.
        first = max(first + 1, last - overlap)
        while last < len(lengths) and sum(lengths[first : last + 1]) > room:
            first += 1
    middles = [(later + earlier) // 2 for (_, earlier), (later, _) in pairwise(spans)]
    kept = zip([0, *middles], [*middles, len(lengths)], strict=True)
    return [Window(*span, decided) for span, decided in zip(spans, kept, strict=False)]


def write(
    text: str,
    words: Sequence[Word],
    marks: npt.NDArray[np.float32],
    cases: npt.NDArray[np.float32],
    spellings: Mapping[str, str],
) -> str:
    """Write a text with capitals and punctuation.

    A text is taken for whole sentences: it begins with a capital and ends with a mark.

    Args:
        text: as it was given.
        words: of it.
        marks: logits of :data:`MARKS` after each word, ``[words, 4]``.
        cases: logits of :data:`LOWER`, :data:`CAPITAL` and :data:`UPPER`, ``[words, 3]``.
        spellings: words with capitals inside, such as "iPhone", by their lower case.
    """
    shouted = len(words) > 1 and not any(character.islower() for character in text)
    begins, written = True, [text[: words[0].start]] if words else [text]
    for number, word in enumerate(words):
        is_last = number == len(words) - 1
        case = max(CAPITAL if begins else LOWER, int(cases[number].argmax()))
        mark = _mark(word, marks[number], is_last=is_last)
        written += [_cased(word.text.lower() if shouted else word.text, case, spellings), MARKS[mark], word.gap]
        begins = (mark in _ENDS or bool(_OWN_END.search(word.gap))) and not _is_abbreviation(word.text)
    return "".join(written)


def case_of(word: str) -> int | None:
    """Return a word's case; None for others, such as "iPhone"."""
    letters = "".join(_LETTER.findall(_APOSTROPHE.split(word)[0]))
    if not letters or letters.islower():
        return LOWER
    if letters.isupper():
        return UPPER if len(letters) > 1 else CAPITAL
    return CAPITAL if letters[0].isupper() and letters[1:].islower() else None


def _mark(word: Word, logits: npt.NDArray[np.float32], *, is_last: bool) -> int:
    """Choose the mark after a word; keep the text's own, and end the text."""
    if _OWN_MARK.search(word.gap):
        return 0
    if is_last:
        return max(_ENDS, key=lambda mark: float(logits[mark]))
    return int(logits.argmax())


def _cased(word: str, case: int, spellings: Mapping[str, str]) -> str:
    if any(character.isupper() for character in word):
        return word
    if word in spellings:
        return spellings[word]
    if case == UPPER:
        stem = _APOSTROPHE.split(word)[0]
        return stem.upper() + word[len(stem) :]
    first = _LETTER.search(word) if case == CAPITAL else None
    return word if first is None else word[: first.start()] + first[0].upper() + word[first.end() :]


def _is_abbreviation(word: str) -> bool:
    return word.lower() in _NO_END or ("." in word and word[-1].isalpha())
