"""Reads texts of which it was said what they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.speech.spans import SayAs
from pipelines.speech.verbalizing import moments
from pipelines.speech.verbalizing.numbers import cardinal, denominator, digits, ordinal
from pipelines.speech.verbalizing.tables import SYMBOLS
from pipelines.speech.verbalizing.written import in_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.speech.spans import Span

_NAMES = SYMBOLS | {
    "-": "dash",
    "_": "underscore",
    ".": "dot",
    ",": "comma",
    "/": "slash",
    ":": "colon",
    "#": "hash",
    "*": "star",
    "!": "exclamation mark",
    "?": "question mark",
    "(": "open parenthesis",
    ")": "close parenthesis",
    "'": "apostrophe",
}
_TIME = re.compile(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*(?:([ap])\.?m\.?)?", re.IGNORECASE)
_FRACTION = re.compile(r"(?:(\d{1,6})[ +])?(\d{1,6})\s*/\s*(\d{1,6})")
_NUMBER = re.compile(r"[+-]?\d[\d,]{0,40}(?:\.\d{1,20})?")


def spoken(span: Span) -> str:
    """Return the words of a span; a wrong kind is read as it stands."""
    reader = _READERS.get(span.say_as)
    words = None if reader is None else reader(span.text.strip(), span.date_format)
    return in_words(span.text) if words is None else words


def _cardinal(text: str, _: str) -> str | None:
    return cardinal(text) if _NUMBER.fullmatch(text) else None


def _ordinal(text: str, _: str) -> str | None:
    bare = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", text)
    return ordinal(bare) if re.fullmatch(r"\d[\d,]*", bare) else None


def _characters(text: str, _: str) -> str:
    names = (_character(character) for character in text if not character.isspace())
    return ", ".join(name for name in names if name)


def _character(character: str) -> str:
    if character.isdecimal():
        return digits(character)
    return _NAMES.get(character, f"{character.upper()}." if character.isalpha() else "")


def _digits(text: str, _: str) -> str | None:
    return ", ".join(digits(group) for group in re.findall(r"\d+", text)) or None


def _fraction(text: str, _: str) -> str | None:
    found = _FRACTION.fullmatch(text)
    if found is None or int(found[3]) < 2:
        return None
    words = f"{cardinal(found[2])} {denominator(found[3], one=found[2] == '1')}"
    return f"{cardinal(found[1])} and {words}" if found[1] else words


def _date(text: str, order: str) -> str | None:
    return moments.date_in(text, order)


def _time(text: str, _: str) -> str | None:
    found = _TIME.fullmatch(text)
    return moments.clock_time(found[1], found[2] or "", found[3] or "", found[4] or "") if found else None


def _telephone(text: str, _: str) -> str | None:
    words = _digits(text, "")
    return f"plus {words}" if words and text.startswith("+") else words


_READERS: dict[SayAs, Callable[[str, str], str | None]] = {
    SayAs.CARDINAL: _cardinal,
    SayAs.ORDINAL: _ordinal,
    SayAs.CHARACTERS: _characters,
    SayAs.DIGITS: _digits,
    SayAs.FRACTION: _fraction,
    SayAs.DATE: _date,
    SayAs.TIME: _time,
    SayAs.TELEPHONE: _telephone,
}
