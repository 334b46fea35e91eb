"""Meaning of an utterance: kind, readings and values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class UtteranceKind(Enum):
    """Kind of an utterance."""

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
    """Kind of a value."""

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
    """Meaning of some words: a date, a time, an amount."""

    kind: ValueKind
    """Kind of the value."""
    value: str
    """ISO 8601 for dates and times, such as `2026-11-27T07:30:00+01:00` or `PT2H30M`; else a decimal number."""
    unit: str
    """ISO 4217 code of an amount of money; `celsius` or `fahrenheit` of a temperature that names its scale; else ""."""
    alternative: str
    """Of a time without "am" or "pm": the same, twelve hours later. Else ""."""
    text: str
    """The words as they stand in the transcript."""
    start: int
    """Code point of the transcript at which `text` begins."""
    end: int
    """Code point of the transcript behind the last one of `text`."""


@dataclass(frozen=True, slots=True)
class Intent:
    """Intent of the speaker."""

    name: str
    """Name of the intent; `none` when nothing fits with enough confidence."""
    confidence: float
    """Calibrated probability of the most likely intent, 0 to 1."""
    kind: UtteranceKind = UtteranceKind.UNSPECIFIED
    """Command, question or statement; `name` is `none` where no intent goes with that."""
    negated: bool = False
    """True for a denial, as in "don't turn on the lights"."""
    candidates: tuple[IntentCandidate, ...] = ()
    """The most likely intents, the best first, as many as `max_intents` asked for."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One detail of an intent."""

    name: str
    """Name of the slot."""
    value: str
    """The value in normal form: lower case, single spaces, no punctuation around it.

    Of a slot with a closed list of values, the one that was meant, as it stands there."""
    text: str
    """The value as it stands in the transcript."""
    start: int
    """Code point of the transcript at which `text` begins."""
    end: int
    """Code point of the transcript behind the last one of `text`."""
    resolved: Value | None = None
    """The date, time or amount that the slot means; None where it means none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Reading: the meaning of one part of an utterance."""

    intent: Intent
    """Wish of the speaker."""
    slots: tuple[Slot, ...]
    """The details of the intent, in the order in which they were said."""
    start: int
    """Code point of the transcript at which the part begins."""
    end: int
    """Code point of the transcript behind its last one."""


def understood(intent: Intent | None, readings: Iterable[Reading], values: Iterable[Value]) -> dict[str, Any]:
    """Make the keys `kind` to `values` of a reply's JSON; none without an intent."""
    if intent is None:
        return {}
    candidates = [{"name": one.name, "confidence": round(one.confidence, 4)} for one in intent.candidates]
    return {
        "kind": _kind(intent),
        "negated": intent.negated,
        **({"candidates": candidates} if candidates else {}),
        "readings": [_reading(reading) for reading in readings],
        "values": [_value(value) for value in values],
    }


def _kind(intent: Intent) -> str | None:
    return None if intent.kind.value == "UNSPECIFIED" else intent.kind.value.lower()


def _reading(reading: Reading) -> dict[str, Any]:
    intent = reading.intent
    return {
        "intent": {"name": intent.name, "confidence": round(intent.confidence, 4)},
        "kind": _kind(intent),
        "negated": intent.negated,
        "slots": [slot_dict(slot) for slot in reading.slots],
        "start": reading.start,
        "end": reading.end,
    }


def slot_dict(slot: Slot) -> dict[str, Any]:
    """Make a slot as `Reply.to_dict` has it."""
    resolved = {} if slot.resolved is None else {"resolved": _value(slot.resolved)}
    return {"name": slot.name, "value": slot.value, "text": slot.text, **resolved}


def _value(value: Value) -> dict[str, Any]:
    told = {"kind": value.kind.value.lower(), "value": value.value, "text": value.text}
    extra = {"unit": value.unit, "alternative": value.alternative}
    return {**told, **{name: text for name, text in extra.items() if text}, "start": value.start, "end": value.end}
