"""All values of a text, and the value of a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.data.values import Value, ValueKind
from pipelines.text.language import ENGLISH
from pipelines.text.values.by_language import find_values_in
from pipelines.text.values.clock_times import TIME_WORDS
from pipelines.text.values.dates import DATE_WORDS, MAX_DAY, impossible_day, next_day_of_month
from pipelines.text.values.durations import UNIT_WORDS, duration
from pipelines.text.values.moments import moment
from pipelines.text.values.numerals import NUMBER_WORDS, UNITS
from pipelines.text.values.quantities import MONEY_SIGNS, quantity
from pipelines.text.values.tokens import Tokens

if TYPE_CHECKING:
    import datetime as dt

MAX_CHARACTERS = 1_000
"""Code points at the beginning of a text that are read: reading runs on the event loop, 0.03 ms a word."""
MAX_VALUES = 64
"""Values that one text is read for; more are no utterance."""
_CODE_WORDS = frozenset(("oh", "o", "double", "triple", ",", *(word for word, n in UNITS.items() if n < 10)))
_MIN_CODE = 4
"""Digits said one by one that are a code, such as a phone number, and no quantities."""
_FIRST_WORDS = frozenset(NUMBER_WORDS | DATE_WORDS | TIME_WORDS | MONEY_SIGNS | _CODE_WORDS - {","})
"""Words that values begin with."""
_TELLING = _FIRST_WORDS | UNIT_WORDS | {"now", "couple", "quarter", "weekend", "other"}
_REACHES = {"in": 3, "from": 2, "between": 2, "every": 2, "each": 2, "half": 3, "quarter": 2, "day": 2}
_REACHES |= dict.fromkeys(("the", "a", "an", "at", "this", "last", "next", "coming", "right"), 1)
"""Words that values begin with as well, where a telling one is among so many after them."""


def find_values(text: str, now: dt.datetime, language: str = ENGLISH) -> tuple[Value, ...]:
    """Find the values of a text, in its order; none overlaps another.

    Args:
        text: what was said or typed.
        now: the caller's date and time, with a zone.
        language: of the text, one of ``LANGUAGES``.
    """
    if language != ENGLISH:
        return find_values_in(language, text, now)
    tokens, found, at = Tokens(text[:MAX_CHARACTERS]), list[Value](), 0
    for place in beginnings(tokens.words):
        if place < at:
            continue
        at = impossible_day(tokens, _past_code(tokens, place))
        read = _read(tokens, at, now)
        if read is None:
            at += 1
            continue
        value, at = read
        found.append(value)
        if len(found) == MAX_VALUES:
            break
    return tuple(found)


def beginnings(words: list[str]) -> list[int]:
    """Return the places at which a value may begin: readers are only asked there."""
    return [
        at
        for at, word in enumerate(words)
        if word in _FIRST_WORDS
        or word[0].isdecimal()
        or (
            (reach := _REACHES.get(word))
            and any(near in _TELLING or near[0].isdecimal() for near in words[at + 1 : at + 1 + reach])
        )
    ]


def resolve(text: str, start: int, end: int, values: tuple[Value, ...], now: dt.datetime) -> Value | None:
    """Return the value of a part of a text, such as a slot; None where it has none.

    Args:
        text: all of it.
        start: first code point of the part.
        end: one past its last.
        values: of the whole text: a time in "seven thirty" is that of the evening where the text goes on so.
        now: the caller's date and time.
    """
    around = next((value for value in values if value.start < end and start < value.end), None)
    if around is not None and start <= around.start and around.end <= end:
        return around
    inside = max(find_values(text[start:end], now), key=lambda value: value.end - value.start, default=None)
    if inside is None:
        return None
    placed = Value(inside.kind, inside.value, start + inside.start, start + inside.end, inside.unit, inside.alternative)
    if around is not None and around.kind is ValueKind.DATE_TIME and inside.kind is ValueKind.TIME:
        time = around.value[11:16]
        alternative = inside.alternative if time == inside.value else ""
        return Value(ValueKind.TIME, time, placed.start, placed.end, alternative=alternative)
    return placed


def _past_code(tokens: Tokens, at: int) -> int:
    """Return the place behind a digit string, or the same place."""
    end = tokens.skip(at, _CODE_WORDS)
    digits = sum(tokens[place] != "," for place in range(at, end))
    is_version = tokens[end] == "point" and tokens[end + 2] == "point"
    return end if digits >= _MIN_CODE else tokens.skip(end, _CODE_WORDS | {"point"}) if digits and is_version else at


def _read(tokens: Tokens, at: int, now: dt.datetime) -> tuple[Value, int] | None:
    """Read the value that begins at a place."""
    timed = moment(tokens, at, now)
    length = duration(tokens, at)
    amount = quantity(tokens, at)
    ends = [end for end in (timed and timed.end, length and length[1], amount and amount.end) if end]
    if not ends:
        return None
    end = max(ends)
    start_, end_ = tokens.span(at, end)
    if timed is not None and timed.end == end:
        return Value(timed.kind, timed.value, start_, end_, alternative=timed.alternative), end
    if length is not None and length[1] == end:
        return Value(ValueKind.DURATION, length[0].iso, start_, end_), end
    if amount is None:
        return None
    number = int(amount.value) if amount.kind is ValueKind.ORDINAL else 0
    day = next_day_of_month(now.date(), number) if 0 < number <= MAX_DAY else None
    return Value(amount.kind, amount.value, start_, end_, amount.unit, day=day.isoformat() if day else ""), end
