"""Times of day: "half past six", "7:45 am", "six fifteen"."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.text.values.numerals import below_hundred, digit_pair

if TYPE_CHECKING:
    from pipelines.text.values.tokens import Tokens

DAY_PARTS = {"morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24)}
"""Hours from which to before which each part of a day lasts."""
_HALF_DAYS = {"am": "am", "pm": "pm"}
_NAMED = {"noon": 12, "midnight": 0}
TIME_WORDS = frozenset((*DAY_PARTS, *_NAMED))
"""Words that times of day begin with, numbers apart."""
_BETWEEN = {"past": 1, "after": 1, "to": -1, "before": -1, "till": -1, "of": -1}
NOON, HOURS, MINUTES = 12, 24, 60
_QUARTER = 15


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day.

    Attributes:
        hour: 0 to 23.
        minute: 0 to 59.
        is_sure: whether it is known which half of the day is meant.
        is_next_day: whether it is the midnight that ends the day.
    """

    hour: int
    minute: int = 0
    is_sure: bool = False
    is_next_day: bool = False

    @property
    def iso(self) -> str:
        """ISO 8601: "07:30"."""
        return f"{self.hour:02}:{self.minute:02}"

    @property
    def alternative(self) -> str:
        """Time twelve hours later, in ISO 8601, if a.m. or p.m. is open; else ""."""
        return "" if self.is_sure else ClockTime((self.hour + NOON) % HOURS, self.minute).iso

    def of(self, part: str) -> ClockTime:
        """Return the time in a part of the day: "seven" of the evening is 19:00."""
        if not part or self.is_sure or self.hour > NOON:
            return self
        hour, is_next_day = self.hour % 12, False
        if part == "afternoon":
            hour += 12
        elif part in {"evening", "night"}:
            if hour == 0:
                is_next_day = True
            elif hour >= (4 if part == "evening" else 6):
                hour += 12
        return ClockTime(hour, self.minute, is_sure=True, is_next_day=is_next_day)

    def on(self, day: dt.date, zone: dt.tzinfo | None) -> dt.datetime:
        """Return the moment of a day."""
        if self.is_next_day:
            day += dt.timedelta(days=1)
        return dt.datetime(day.year, day.month, day.day, self.hour, self.minute, tzinfo=zone)


def clock_time(tokens: Tokens, at: int, *, bare: bool = False) -> tuple[ClockTime, int] | None:
    """Read a time of day, with "am" or "in the morning" behind it.

    Args:
        tokens: of the text.
        at: where it begins.
        bare: whether an hour alone is a time, as after "at".
    """
    found = _time(tokens, at)
    if found is not None:
        return _with_half_day(tokens, *found)
    hour = _hour(tokens, at)
    if hour is None:
        return None
    time = _with_half_day(tokens, ClockTime(hour[0] % HOURS), hour[1])
    return time if time[1] > hour[1] or bare else None


def bare_hour(tokens: Tokens, at: int) -> tuple[ClockTime, int] | None:
    """Read an hour that stands alone."""
    hour = _hour(tokens, at)
    return (ClockTime(hour[0] % HOURS), hour[1]) if hour else None


def day_part(tokens: Tokens, at: int) -> tuple[str, int] | None:
    """Read "in the morning", "at night" and the like."""
    if tokens.have(at, "in", "the") and tokens[at + 2] in DAY_PARTS:
        return tokens[at + 2], at + 3
    return ("night", at + 2) if tokens.have(at, "at", "night") else None


def _with_half_day(tokens: Tokens, time: ClockTime, end: int) -> tuple[ClockTime, int]:
    half = tokens[end] if tokens[end] in _HALF_DAYS else ""
    after = end + 1
    if not half and tokens[end] in {"a", "p"} and tokens[end + 1] == "m":
        half, after = f"{tokens[end]}m", end + 2
    if half and not time.is_sure and 0 < time.hour <= NOON:
        return ClockTime(time.hour % 12 + (12 if half == "pm" else 0), time.minute, is_sure=True), after
    if (part := day_part(tokens, end)) is not None and not time.is_sure:
        return time.of(part[0]), part[1]
    return time, end


def _time(tokens: Tokens, at: int) -> tuple[ClockTime, int] | None:
    """Read a time of which the words alone tell that it is one."""
    word = tokens[at]
    if word in _NAMED:
        return ClockTime(_NAMED[word], is_sure=True), at + 1
    if ":" in word:
        return _in_figures(word, at)
    return _between_hours(tokens, at) or _hour_and_minutes(tokens, at)


def _in_figures(word: str, at: int) -> tuple[ClockTime, int] | None:
    """Read "18:30"; a zero before the hour tells that it has 24 hours."""
    if len(word) == 1:
        return None
    hour, minute, *_ = (int(part) for part in word.split(":"))
    if hour >= HOURS or minute >= MINUTES:
        return None
    return ClockTime(hour, minute, is_sure=not 0 < hour <= NOON or word.startswith("0")), at + 1


def _hour_and_minutes(tokens: Tokens, at: int) -> tuple[ClockTime, int] | None:
    """Read "six o'clock" and "six fifteen"."""
    hour = _hour(tokens, at)
    if hour is not None and tokens.have(hour[1], "hundred", "hours"):
        return ClockTime(hour[0] % HOURS, is_sure=True), hour[1] + 2
    if hour is None or hour[0] > NOON:
        return None
    if tokens[hour[1]] == "o'clock":
        return ClockTime(hour[0]), hour[1] + 1
    pair = digit_pair(tokens, tokens.past_hyphen(hour[1]))
    if pair and pair[0] < MINUTES and not tokens[at].isdecimal():
        return ClockTime(hour[0], pair[0]), pair[1]
    return None


def _between_hours(tokens: Tokens, at: int) -> tuple[ClockTime, int] | None:
    """Read "half past six", "a quarter to nine", "ten minutes to eight"."""
    told = _minutes(tokens, at)
    if told is None:
        return None
    minutes, end = told
    direction = _BETWEEN.get(tokens[end], 0)
    if not direction or not 0 < minutes < MINUTES or (tokens[end] == "of" and minutes != _QUARTER):
        return None
    named = tokens[end + 1] in _NAMED
    hour = ((_NAMED[tokens[end + 1]] or HOURS), end + 2) if named else _hour(tokens, end + 1)
    if hour is None:
        return None
    after = hour[1] + 1 if tokens[hour[1]] == "o'clock" else hour[1]
    if direction > 0:
        return ClockTime(hour[0] % HOURS, minutes, is_sure=named), after
    # An hour before one o'clock is twelve o'clock.
    return ClockTime((hour[0] - 1) % HOURS or NOON, MINUTES - minutes, is_sure=named), after


def _minutes(tokens: Tokens, at: int) -> tuple[int, int] | None:
    """Read minutes before "past" or "to", by fives or with "minutes"."""
    start = at + 1 if tokens.have(at, "a", "quarter") else at
    after = tokens.past_hyphen(start + 1)
    if tokens[start] == "half" and tokens[after] == "past":
        return MINUTES // 2, after
    if tokens[start] == "quarter":
        return _QUARTER, after
    found = _small(tokens, start)
    if found is None:
        return None
    minutes, end = found
    if tokens[end] in {"minutes", "minute"}:
        return minutes, end + 1
    # "two to three" is from one hour to the other.
    return None if minutes % 5 else (minutes, end)


def _hour(tokens: Tokens, at: int) -> tuple[int, int] | None:
    found = _small(tokens, at)
    return found if found and 0 < found[0] <= HOURS else None


def _small(tokens: Tokens, at: int) -> tuple[int, int] | None:
    if tokens[at].isdecimal() and len(tokens[at]) <= 2:
        return int(tokens[at]), at + 1
    return below_hundred(tokens, at)
