"""Inverse text normalization: what was spoken as words is written in figures, "twenty three dollars" as "$23".

The grammars are NeMo's (Zhang, Bakhturina, Gorman and Ginsburg, 2021, "NeMo Inverse Text Normalization: From
Development To Production"), as the library ``wetext`` carries them compiled. They read lower case without punctuation,
so only such stretches of a text are given to them.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wetext import Normalizer

_LETTERS = r"[^\W\d_]"
_WORD = rf"(?:{_LETTERS}\.(?:{_LETTERS}\.)+|{_LETTERS}+(?:['’]{_LETTERS}+)*)"  # noqa: RUF001 - the apostrophe of some texts
_STRETCH = re.compile(rf"{_WORD}(?: {_WORD})*")
_DIGITS = "one|two|three|four|five|six|seven|eight|nine"
_HYPHENED = re.compile(rf"\b(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-(?={_DIGITS})", re.IGNORECASE)
_QUARTER = re.compile(rf"\ba (?=quarter (?:past|to) (?:{_DIGITS}|ten|eleven|twelve)\b)", re.IGNORECASE)


def in_figures(text: str) -> str:
    """Writes the numbers, amounts, times and dates of an English ``text`` in figures.

    It takes about a millisecond a sentence.
    """
    readable = _QUARTER.sub("", _HYPHENED.sub(r"\1 ", text))
    return _STRETCH.sub(lambda stretch: _convert(stretch[0]), readable)


@functools.cache
def _normalizer() -> Normalizer:
    # Importing the library takes half a second, which only who asks for figures should pay for.
    from wetext import Normalizer  # noqa: PLC0415

    return Normalizer(lang="en", operator="itn")


def _convert(stretch: str) -> str:
    """Converts words and single spaces; a capital at the beginning, which the grammars do not read, is kept."""
    first, rest = stretch[0], stretch[1:]
    converted = str(_normalizer().normalize(first.lower() + rest))
    if converted[:1] == first.lower():
        return first + converted[1:]
    return converted
