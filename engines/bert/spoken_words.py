"""Spoken forms of numbers and units, so that "12 oz" equals "twelve ounce"."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNIT_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
"""0 to 19."""
TEN_WORDS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
"""20, 30 … 90."""

_ABBREVIATIONS = {
    "oz": "ounce",
    "lb": "pound",
    "lbs": "pounds",
    "kg": "kilogram",
    "ml": "milliliter",
    "km": "kilometer",
    "cm": "centimeter",
    "ft": "foot",
    "hr": "hour",
    "hrs": "hours",
    "min": "minute",
    "mins": "minutes",
    "sec": "second",
    "secs": "seconds",
    "ok": "okay",
}
_SIGNS = {"%": "percent", "&": "and", "$": "dollar", "€": "euro", "£": "pound", "°": "degree", "½": "half"}
_LONGEST_NUMBER = 100
"""Digits; what is longer is no number that anybody says, and Python reads it no more from 4,301 on."""
_WORD = re.compile(rf"\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)*|[{''.join(_SIGNS)}]")


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """Written word: its spoken form, lower case, and its code points."""

    spoken: str
    start: int
    end: int


def spoken_words(text: str) -> list[SpokenWord]:
    """Split ``text`` into words; "12oz." gives "twelve" and "ounce"."""
    return [SpokenWord(_speak(match[0]), *match.span()) for match in _WORD.finditer(text)]


def spoken_form(text: str) -> str:
    """Write all of ``text`` as it is spoken, single spaces between the words."""
    return " ".join(word.spoken for word in spoken_words(text))


def say_number(number: int) -> str:
    """Spell out a number; from 10,000 on digit by digit."""
    if number < 20:
        return UNIT_WORDS[number]
    if number < 100:
        return _join(TEN_WORDS[number // 10 - 2], number % 10)
    if number < 1000:
        return _join(f"{UNIT_WORDS[number // 100]} hundred", number % 100)
    if number < 10_000:
        return _join(f"{UNIT_WORDS[number // 1000]} thousand", number % 1000)
    return " ".join(UNIT_WORDS[int(digit)] for digit in str(number))


def _join(head: str, rest: int) -> str:
    return f"{head} {say_number(rest)}" if rest else head


def _speak(written: str) -> str:
    if written.isdecimal() and len(written) <= _LONGEST_NUMBER:
        return say_number(int(written))
    word = written.lower().replace("\u2019", "'")
    return _SIGNS.get(word) or _ABBREVIATIONS.get(word, word)
