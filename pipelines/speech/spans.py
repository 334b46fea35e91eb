"""Spans: pieces of the request's text, each with its way of speaking."""

from __future__ import annotations

import enum
from dataclasses import dataclass

MIN_SPEED, MAX_SPEED = 0.5, 2.0
MAX_PAUSE_SECONDS = 10.0


class SayAs(enum.Enum):
    """Interpretation of a span, as SSML's ``say-as`` gives it."""

    TEXT = "text"
    CARDINAL = "cardinal"
    ORDINAL = "ordinal"
    CHARACTERS = "characters"
    DIGITS = "digits"
    FRACTION = "fraction"
    UNIT = "unit"
    DATE = "date"
    TIME = "time"
    TELEPHONE = "telephone"
    CURRENCY = "currency"


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of the request's text.

    Attributes:
        text: what was written.
        phonemes: how it is pronounced, in the International Phonetic Alphabet; "": as the voice reads it.
        say_as: what it is.
        date_format: order of year, month and day in a date, such as ``dmy``; "": as the text itself suggests.
        speed: 1 for the voice's own.
        pause_seconds: silence after it.
        ends_sentence: whether a sentence ends with it, whatever mark it ends with.
    """

    text: str
    phonemes: str = ""
    say_as: SayAs = SayAs.TEXT
    date_format: str = ""
    speed: float = 1.0
    pause_seconds: float = 0.0
    ends_sentence: bool = False
