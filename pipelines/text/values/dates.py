"""Calendar dates: "the day after tomorrow", "june fifth", "next monday"."""

from __future__ import annotations

import calendar
import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.text.values.clock_times import DAY_PARTS
from pipelines.text.values.durations import Duration, duration
from pipelines.text.values.numerals import cardinal, ordinal, year

if TYPE_CHECKING:
    from pipelines.text.values.tokens import Tokens

WEEKDAYS = {name.lower(): n for n, name in enumerate(calendar.day_name)}
_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_name) if name}
_SHORT_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
_RELATIVE = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_HOLIDAYS = {
    ("christmas", "eve"): (12, 24),
    ("christmas", "day"): (12, 25),
    ("christmas",): (12, 25),
    ("boxing", "day"): (12, 26),
    ("new", "year's", "eve"): (12, 31),
    ("new", "years", "eve"): (12, 31),
    ("new", "year's", "day"): (1, 1),
    ("new", "year's"): (1, 1),
    ("valentine's", "day"): (2, 14),
    ("halloween",): (10, 31),
}
_HOLIDAY_WORDS = frozenset(words[0] for words in _HOLIDAYS)
DATE_WORDS = _HOLIDAY_WORDS.union(WEEKDAYS, _MONTHS, _SHORT_MONTHS, _RELATIVE)
"""Words that dates begin with, numbers and words such as "next" apart."""
_WHICH = {"next": 1, "this": 0, "last": -1, "coming": 0}
_BEFORE_PERIODS = {"in", "since", "until", "by", "of", "during", "before", "after", "year"}
_BEFORE_DAYS = {"on", "for", "by", "until", "till", "before", "after", "from", "since", "the"}
"""Words after which two figures with a stroke are a day, and no part of something."""
_POLITE = frozenset((".", ",", "!", "please", "it's", "it", "is", "um", "uh", "well", "thanks"))
MAX_DAY, _LEAP_YEAR = 31, 2000
_FAR_DAYS = 400 * 366


@dataclass(frozen=True, slots=True)
class Day:
    """A date, or a longer time.

    Attributes:
        first: the day, or the first one.
        iso: ISO 8601, of less than a day's precision where the words have less.
        part: of the day that the words tell, "" for none.
        is_day: whether it is one day.
    """

    first: dt.date
    iso: str
    part: str = ""
    is_day: bool = True


def one_day(date: dt.date, part: str = "") -> Day:
    """Make a day of a date."""
    return Day(date, date.isoformat(), part)


def date(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    """Read a date; the longest reading counts."""
    found = [read for read in (_near_date(tokens, at, today), _distant(tokens, at, today)) if read is not None]
    return max(found, key=lambda read: read[1]) if found else None


def _near_date(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    """Read a date that is not told by its distance from another one."""
    readers = (_relative, _weekday, _with_month, _numeric, _holiday, _period)
    found = [read for reader in readers if (read := reader(tokens, at, today)) is not None]
    return max(found, key=lambda read: read[1]) if found else None


def shifted(start: dt.date, by: Duration, sign: int = 1) -> dt.date | None:
    """Add days, weeks, months and years to a date; None beyond the calendar."""
    months = sum(n * (12 if unit == "Y" else 1) for unit, n in by.amounts if unit in {"Y", "M"}) * sign
    days = sum(n * (7 if unit == "W" else 1) for unit, n in by.amounts if unit in {"W", "D"}) * sign
    number = start.year * 12 + start.month - 1 + months
    if not 12 <= number < 9999 * 12 or abs(days) > _FAR_DAYS:
        return None
    year_, month = divmod(number, 12)
    last = calendar.monthrange(year_, month + 1)[1]
    try:
        return dt.date(year_, month + 1, min(start.day, last)) + dt.timedelta(days=days)
    except OverflowError:
        return None


def weekday_after(today: dt.date, weekday: int) -> dt.date:
    """Return the next such weekday, a week on where that is today."""
    return today + dt.timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def _relative(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    start = at + 1 if tokens[at] == "the" else at
    if tokens[start] == "day" and tokens[start + 2] in {"tomorrow", "yesterday"}:
        days = {("after", "tomorrow"): 2, ("before", "yesterday"): -2}.get((tokens[start + 1], tokens[start + 2]))
        return (one_day(today + dt.timedelta(days=days)), start + 3) if days else None
    word = tokens[at]
    if word in _RELATIVE:
        day = today + dt.timedelta(days=_RELATIVE[word])
        if word == "tonight":
            return one_day(day, "night"), at + 1
        return one_day(day, tokens[at + 1] if tokens[at + 1] in DAY_PARTS else ""), at + 1 + (
            tokens[at + 1] in DAY_PARTS
        )
    if word == "this" and tokens[at + 1] in DAY_PARTS:
        return one_day(today, tokens[at + 1]), at + 2
    if tokens.have(at, "last", "night"):
        return one_day(today - dt.timedelta(days=1), "night"), at + 2
    return None


def _weekday(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    start = at + 1 if tokens[at] in _WHICH else at
    name = tokens[start]
    weekday = WEEKDAYS.get(name)
    if weekday is None:
        return None
    day = weekday_after(today, weekday)
    if tokens[at] == "next":
        monday = today + dt.timedelta(days=7 - today.weekday())
        day = monday + dt.timedelta(days=weekday)
    elif tokens[at] == "last":
        day = today - dt.timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    elif tokens[at] == "this" and weekday == today.weekday():
        day = today
    end = start + 1
    if tokens[end] in {"next", "this"} and tokens[end + 1] == "week":
        monday = today + dt.timedelta(days=7 * (tokens[end] == "next") - today.weekday())
        day, end = monday + dt.timedelta(days=weekday), end + 2
    following = tokens.skip(end, {",", "the"})
    if (dated := _with_month(tokens, following, today)) is not None:
        return dated
    if impossible_day(tokens, following) > following:
        return None
    if tokens[following - 1] == "the" and (nth := ordinal(tokens, following)) and (on := _nth(today, nth[0], weekday)):
        return one_day(on), nth[1]
    if tokens[end] in DAY_PARTS:
        return one_day(day, tokens[end]), end + 1
    return one_day(day), end


def next_day_of_month(today: dt.date, number: int) -> dt.date | None:
    """Return the next day of the month with a number, from today, or None."""
    return _nth(today, number)


def _nth(today: dt.date, number: int, weekday: int | None = None) -> dt.date | None:
    """Return the next day of the month with a number, maybe on a weekday."""
    for days in range(366):
        day = today + dt.timedelta(days=days)
        if day.day == number and weekday in {None, day.weekday()}:
            return day
    return None


def _with_month(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    """Read a day of a month: "june fifth", "the 3rd of june 2028", "on the seventh"."""
    months = _MONTHS | _SHORT_MONTHS
    if tokens[at] in months:
        month, after = months[tokens[at]], at + 1
        after = after + 1 if tokens[after] == "." or tokens[after] == "the" else after
        number = ordinal(tokens, after) or cardinal(tokens, after)
        if number is None or not 0 < number[0] <= 31:
            return None
        return _dated(tokens, month, number[0], number[1], today)
    start = at + 1 if tokens[at] == "the" else at
    number = ordinal(tokens, start)
    if number is None and (counted := cardinal(tokens, start)) is not None and tokens[counted[1]] in _MONTHS:
        number = counted
    if number is None and tokens[start].isdecimal():
        number = int(tokens[start]), start + 1
    if number is None or not 0 < number[0] <= 31:
        return None
    after = number[1] + 1 if tokens[number[1]] == "of" else number[1]
    if tokens[after] in months and (after > number[1] or tokens[after] in _MONTHS):
        return _dated(tokens, months[tokens[after]], number[0], after + 1, today)
    if start > at and tokens[at - 1] == "on" and not tokens[start].isdecimal() and (on := _nth(today, number[0])):
        return one_day(on), number[1]
    return None


def impossible_day(tokens: Tokens, at: int) -> int:
    """Return the place behind an impossible day, as "the 31st of February"."""
    months = _MONTHS | _SHORT_MONTHS
    if tokens[at] in months:
        start = at + 2 if tokens[at + 1] in {".", "the"} else at + 1
        number, month = ordinal(tokens, start) or cardinal(tokens, start), months[tokens[at]]
        is_told = number is not None and (number[0] <= MAX_DAY or ordinal(tokens, start) is not None)
    else:
        start = at + 1 if tokens[at] == "the" else at
        number = ordinal(tokens, start) or ((int(tokens[start]), start + 1) if _is_day(tokens[start]) else None)
        after = number[1] + (tokens[number[1]] == "of") if number else at
        month = (months if number and after > number[1] else _MONTHS).get(tokens[after], 0)
        is_told = month > 0
        number = (number[0], after + 1) if number else None
    if number is None or not is_told:
        return at
    end = number[1] + 1 if tokens[number[1]] in {",", "of"} else number[1]
    named = year(tokens, end)
    try:
        dt.date(named[0] if named else _LEAP_YEAR, month, number[0])
    except ValueError:
        return named[1] if named else number[1]
    return at


def _is_day(word: str) -> bool:
    return word.isdecimal() and len(word) <= 2


def _dated(tokens: Tokens, month: int, day: int, end: int, today: dt.date) -> tuple[Day, int] | None:
    following = end + 1 if tokens[end] in {",", "of"} else end
    named = year(tokens, following)
    try:
        if named is not None:
            return one_day(dt.date(named[0], month, day)), named[1]
    except ValueError:
        return None
    return (one_day(day_), end) if (day_ := _next(month, day, today)) else None


def _next(month: int, day: int, today: dt.date) -> dt.date | None:
    """Return the next such day, today included; None where no calendar has it."""
    for year_ in range(today.year, today.year + 9):
        try:
            found = dt.date(year_, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    return None


def _numeric(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    """Read "2027-02-14", and "12/24/2026" or "on 12/24", month first."""
    word = tokens[at]
    try:
        if word.count("-") == 2:
            return one_day(dt.date.fromisoformat(word)), at + 1
        if word.count("/") == 2:
            month, day, year_ = (int(part) for part in word.split("/"))
            return one_day(dt.date(year_ + 2000 if year_ < 100 else year_, month, day)), at + 1
        if word.count("/") == 1 and word not in {"/", "24/7"} and _is_told_as_day(tokens, at):
            month, day = (int(part) for part in word.split("/"))
            found = _next(month, day, today) or _next(day, month, today)
            return (one_day(found), at + 1) if found else None
    except ValueError:
        pass
    return None


def _is_told_as_day(tokens: Tokens, at: int) -> bool:
    """Return whether figures with a stroke are a day, by their context."""
    others = (tokens[place] for place in range(len(tokens)) if place != at)
    return tokens[at - 1] in _BEFORE_DAYS or _POLITE.issuperset(others)


def _holiday(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    if tokens[at] not in _HOLIDAY_WORDS:
        return None
    for words, (month, day) in _HOLIDAYS.items():
        if tokens.have(at, *words):
            this = dt.date(today.year, month, day)
            return one_day(this if this >= today else this.replace(year=today.year + 1)), at + len(words)
    return None


def _period(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    """Read weeks, weekends, months and years."""
    word, before = tokens[at], tokens[at - 1]
    if word in _WHICH and tokens[at + 1] in {"week", "weekend", "month", "year"}:
        return _near(tokens[at + 1], _WHICH[word], today), at + 2
    months = _MONTHS
    if word in _WHICH and tokens[at + 1] in months:
        return _month(months[tokens[at + 1]], today, _WHICH[word]), at + 2
    if before in _BEFORE_PERIODS and word in months:
        if (named := year(tokens, at + 1)) is not None:
            return Day(dt.date(named[0], months[word], 1), f"{named[0]}-{months[word]:02}", is_day=False), named[1]
        return _month(months[word], today, 0), at + 1
    if before in _BEFORE_PERIODS and (named := year(tokens, at)) is not None:
        return Day(dt.date(named[0], 1, 1), f"{named[0]}", is_day=False), named[1]
    return None


def _near(period: str, which: int, today: dt.date) -> Day:
    monday = today + dt.timedelta(days=7 * which - today.weekday())
    if period == "week":
        number = monday.isocalendar()
        return Day(monday, f"{number.year}-W{number.week:02}", is_day=False)
    if period == "weekend":
        saturday = monday + dt.timedelta(days=5)
        return Day(saturday, f"{saturday.isoformat()}/P2D", is_day=False)
    if period == "year":
        return Day(dt.date(today.year + which, 1, 1), f"{today.year + which}", is_day=False)
    index = today.year * 12 + today.month - 1 + which
    first = dt.date(index // 12, index % 12 + 1, 1)
    return Day(first, f"{first:%Y-%m}", is_day=False)


def _month(month: int, today: dt.date, which: int) -> Day:
    """Return the first day of a month: the next, or for -1 the last."""
    this = today.year if month >= today.month else today.year + 1
    if which == -1:
        this = today.year if month < today.month else today.year - 1
    return Day(dt.date(this, month, 1), f"{this}-{month:02}", is_day=False)


def _distant(tokens: Tokens, at: int, today: dt.date) -> tuple[Day, int] | None:
    """Read days, weeks, months or years from now or ago."""
    start = at + 1 if tokens[at] == "in" else at
    found = duration(tokens, start)
    if found is None or not found[0].is_of_days:
        return None
    length, end = found
    if tokens[end] == "ago":
        sign, base, end = -1, today, end + 1
    elif tokens.have(end, "from", "now"):
        sign, base, end = 1, today, end + 2
    elif tokens[end] in {"from", "after"} and (other := _near_date(tokens, end + 1, today)) is not None:
        sign, base, end = 1, other[0].first, other[1]
    elif start > at:
        sign, base = 1, today
    else:
        return None
    day = shifted(base, length, sign)
    return (one_day(day), end) if day else None
