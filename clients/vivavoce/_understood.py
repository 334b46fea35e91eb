"""What an utterance means: its kind, its parts, and the values of its dates, times and amounts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vivavoce._reply import Intent, Slot


class UtteranceKind(Enum):
    """What kind of utterance it is."""

    UNSPECIFIED = "UNSPECIFIED"
    """The engine does not tell."""
    COMMAND = "COMMAND"
    """Somebody asks for something to be done, in whatever form."""
    QUESTION = "QUESTION"
    """Somebody asks for information."""
    STATEMENT = "STATEMENT"
    """Somebody tells something."""
    UNKNOWN = "UNKNOWN"
    """One that this version of the SDK does not know."""


class ValueKind(Enum):
    """What a value is of."""

    DATE = "DATE"
    """A day, a week, a month or a year."""
    TIME = "TIME"
    """A time of day."""
    DATE_TIME = "DATE_TIME"
    """A moment, in the caller's time zone."""
    INTERVAL = "INTERVAL"
    """From one date or time to another."""
    DURATION = "DURATION"
    """A length of time."""
    RECURRENCE = "RECURRENCE"
    """Dates or times that come again."""
    NUMBER = "NUMBER"
    """A number that is none of the others."""
    ORDINAL = "ORDINAL"
    """A place in an order: 1 for "first"."""
    MONEY = "MONEY"
    """An amount of money."""
    PERCENTAGE = "PERCENTAGE"
    """Of a hundred."""
    TEMPERATURE = "TEMPERATURE"
    """In degrees."""
    UNKNOWN = "UNKNOWN"
    """One that this version of the SDK does not know."""


@dataclass(frozen=True, slots=True)
class IntentCandidate:
    """An intent that may be meant."""

    name: str
    """Name of the intent."""
    confidence: float
    """Calibrated probability, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Value:
    """What some words of an utterance mean."""

    kind: ValueKind
    """What it is a value of."""
    value: str
    """ISO 8601 for dates and times, such as `2026-11-27T07:30:00+01:00` or `PT2H30M`; else a decimal number."""
    unit: str
    """ISO 4217 code of an amount of money; `celsius` or `fahrenheit` of a temperature that names its scale; else ""."""
    alternative: str
    """Of a time without "am" or "pm": the same, twelve hours later. Else ""."""
    text: str
    """The words as they stand in the transcript."""
    start: int
    """Where `text` begins in the transcript."""
    end: int
    """Where `text` ends in the transcript."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one part of an utterance asks for."""

    intent: Intent
    """What the speaker wants."""
    slots: tuple[Slot, ...]
    """The details of the intent, in the order in which they were said."""
    start: int
    """Where the part begins in the transcript."""
    end: int
    """Where the part ends in the transcript."""
