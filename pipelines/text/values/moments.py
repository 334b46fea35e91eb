"""Moments, intervals and recurrences, put together of dates and times of day."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.data.values import ValueKind
from pipelines.text.values.clock_times import DAY_PARTS, HOURS, NOON, ClockTime, bare_hour, clock_time, day_part
from pipelines.text.values.dates import WEEKDAYS, Day, date, one_day, shifted, weekday_after
from pipelines.text.values.durations import Duration, duration

if TYPE_CHECKING:
    from pipelines.text.values.tokens import Tokens

_BEFORE_HOURS = {"at", "by", "until", "till", "before", "after", "around", "about", "from", "between"}
_STEPS = {"up", "down", "it"}
"""Words after which "by ten" is how far, not when."""
_BETWEEN_PIECES = {"at", "on", "in", "the", "by", "around", "about", "of", ",", "for"}
_AFTER_NUMBERS = {
    "percent",
    "%",
    "degrees",
    "degree",
    "°",
    "dollars",
    "euros",
    "pounds",
    "hundred",
    "thousand",
    "people",
}
_NOT_AFTER_BARE = _AFTER_NUMBERS | {"times", "of", "more", "minutes", "hours", "days", "weeks"}
_PERIODS = {"hour": "TH", "day": "D", "week": "W", "month": "M", "year": "Y", "minute": "TM"}


@dataclass(frozen=True, slots=True)
class Found:
    """Date or time up to the token ``end``; see ``model.Value``."""

    kind: ValueKind
    value: str
    end: int
    alternative: str = ""


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Adjacent parts: a day, times, a part of the day, and the end."""

    end: int
    day: Day | None = None
    time: ClockTime | None = None
    until: ClockTime | None = None
    part: str = ""


def moment(tokens: Tokens, at: int, now: dt.datetime) -> Found | None:
    """Read a recurrence, a moment, an interval, a date or a time of day."""
    return (
        _recurrence(tokens, at, now)
        or _beside_time(tokens, at)
        or _distant(tokens, at, now)
        or _days(tokens, at, now)
        or _put_together(_pieces(tokens, at, now), now)
    )


def iso(at: dt.datetime) -> str:
    """Write a moment in ISO 8601, to the second."""
    return at.replace(microsecond=0).isoformat()


def _pieces(tokens: Tokens, at: int, now: dt.datetime) -> _Pieces:
    found = _next_piece(tokens, at, now, _Pieces(at), bare=_is_before_hour(tokens, at - 1))
    while found is not None:
        pieces = found
        start = pieces.end
        found = _next_piece(tokens, start, now, pieces, bare=False)
        if found is None:
            following = tokens.skip(start, _BETWEEN_PIECES)
            if following > start and following - start <= 3:
                found = _next_piece(tokens, following, now, pieces, bare=tokens[following - 1] in _BEFORE_HOURS)
        if found is None:
            return pieces
    # An hour alone is a time where a date follows: "seven tomorrow".
    hour = clock_time(tokens, at, bare=True)
    if hour is not None and (day := date(tokens, hour[1], now.date())) is not None and day[0].is_day:
        return _pieces_from(tokens, at, now)
    return _Pieces(at)


def _is_before_hour(tokens: Tokens, at: int) -> bool:
    """Return whether a bare hour is a time behind this word."""
    return tokens[at] in _BEFORE_HOURS and not (tokens[at] == "by" and tokens[at - 1] in _STEPS)


def _pieces_from(tokens: Tokens, at: int, now: dt.datetime) -> _Pieces:
    first = _next_piece(tokens, at, now, _Pieces(at), bare=True)
    second = _next_piece(tokens, first.end, now, first, bare=False) if first else None
    return second or _Pieces(at)


def _next_piece(tokens: Tokens, at: int, now: dt.datetime, have: _Pieces, *, bare: bool) -> _Pieces | None:
    """Add the piece that stands at a place, if it is of a kind that is not there yet."""
    if at >= len(tokens):
        return None
    added: _Pieces | None = None
    if have.day is None and (day := date(tokens, at, now.date())) is not None:
        if day[0].is_day or not have.time:
            added = replace(have, day=day[0], part=day[0].part or have.part, end=day[1])
    elif have.time is None and (have.day is None or have.day.is_day):
        added = _with_time(tokens, at, have, bare=bare)
    return added or (None if have.part else _with_part(tokens, at, have))


def _with_time(tokens: Tokens, at: int, have: _Pieces, *, bare: bool) -> _Pieces | None:
    if (span := _span(tokens, at)) is not None:
        return replace(have, time=span[0], until=span[1], end=span[2])
    time = clock_time(tokens, at, bare=bare)
    if time is None or tokens[time[1]] in _NOT_AFTER_BARE or tokens.have(time[1], "and", "a", "half"):
        return None
    return replace(have, time=time[0], end=time[1])


def _with_part(tokens: Tokens, at: int, have: _Pieces) -> _Pieces | None:
    if (part := day_part(tokens, at)) is not None:
        return replace(have, part=part[0], end=part[1])
    if tokens[at] in DAY_PARTS and tokens[at - 1] in {"tomorrow", "yesterday", *WEEKDAYS}:
        return replace(have, part=tokens[at], end=at + 1)
    return None


def _span(tokens: Tokens, at: int) -> tuple[ClockTime, ClockTime, int] | None:
    """Read "from nine to five" and "between two and four pm"."""
    joints = {"from": {"to", "until", "till"}, "between": {"and"}}.get(tokens[at])
    start = at + 1 if joints else at
    # "from ten to five" is no ten minutes to five.
    hour = bare_hour(tokens, start) if joints else None
    first = hour if hour and joints and tokens[hour[1]] in joints else clock_time(tokens, start, bare=bool(joints))
    if first is None or tokens[first[1]] not in (joints or {"until", "till"}):
        return None
    last = clock_time(tokens, first[1] + 1, bare=True)
    if last is None:
        return None
    return *_agreed(first[0], last[0]), last[1]


def _agreed(first: ClockTime, last: ClockTime) -> tuple[ClockTime, ClockTime]:
    """Settle the halves of the day of two times of which the second is the later one."""
    if last.is_sure and not first.is_sure and last.hour >= NOON:
        later = replace(first, hour=first.hour % NOON + NOON, is_sure=True)
        if (later.hour, later.minute) < (last.hour, last.minute):
            first = later
    if not last.is_sure and (last.hour, last.minute) <= (first.hour, first.minute) and last.hour < NOON:
        last = replace(last, hour=last.hour + NOON, is_sure=True)
    return first, last


def _put_together(pieces: _Pieces, now: dt.datetime) -> Found | None:
    if pieces.time is not None:
        return _timed(pieces, pieces.time.of(pieces.part), now)
    if pieces.day is None:
        return None
    day, end = pieces.day, pieces.end
    if pieces.part:
        first_hour, last_hour = DAY_PARTS[pieces.part]
        starts = ClockTime(first_hour).on(day.first, now.tzinfo)
        stops = ClockTime(last_hour % HOURS, is_next_day=last_hour == HOURS).on(day.first, now.tzinfo)
        return Found(ValueKind.INTERVAL, f"{iso(starts)}/{iso(stops)}", end)
    return Found(ValueKind.INTERVAL if "/" in day.iso else ValueKind.DATE, day.iso, end)


def _timed(pieces: _Pieces, time: ClockTime, now: dt.datetime) -> Found:
    """Put one or two times of day together with their day, if there is one."""
    day, end = pieces.day, pieces.end
    if pieces.until is not None:
        first, last = _agreed(time, pieces.until.of(pieces.part))
        if day is None:
            return Found(ValueKind.INTERVAL, f"{first.iso}/{last.iso}", end)
        ends = (iso(moment_.on(day.first, now.tzinfo)) for moment_ in (first, last))
        return Found(ValueKind.INTERVAL, "/".join(ends), end)
    if day is None:
        return Found(ValueKind.TIME, time.iso, end, time.alternative)
    other = iso(replace(time, hour=(time.hour + NOON) % HOURS).on(day.first, now.tzinfo)) if not time.is_sure else ""
    return Found(ValueKind.DATE_TIME, iso(time.on(day.first, now.tzinfo)), end, other)


def _distant(tokens: Tokens, at: int, now: dt.datetime) -> Found | None:
    """Read hours, minutes or seconds from now or ago, and "right now"."""
    if tokens.have(at, "right", "now"):
        return Found(ValueKind.DATE_TIME, iso(now), at + 2)
    start = at + 1 if tokens[at] == "in" else at
    found = duration(tokens, start)
    if found is None or found[0].is_of_days:
        return None
    length, end = found
    if tokens[end] == "ago":
        sign, end = -1, end + 1
    elif tokens.have(end, "from", "now"):
        sign, end = 1, end + 2
    elif start > at:
        sign = 1
    else:
        return None
    return Found(ValueKind.DATE_TIME, iso(_later(now, length, sign)), end)


def _beside_time(tokens: Tokens, at: int) -> Found | None:
    """Read "one hour before three" and "ten minutes after noon"."""
    found = duration(tokens, at)
    if found is None or found[0].is_of_days or tokens[found[1]] not in {"before", "after"}:
        return None
    time = clock_time(tokens, found[1] + 1, bare=True)
    if time is None:
        return None
    of_day = dt.datetime(2000, 1, 2, time[0].hour, time[0].minute, tzinfo=dt.UTC)
    moved = _later(of_day, found[0], -1 if tokens[found[1]] == "before" else 1)
    shifted_ = ClockTime(moved.hour, moved.minute, time[0].is_sure)
    return Found(ValueKind.TIME, shifted_.iso, time[1], shifted_.alternative)


def _later(now: dt.datetime, by: Duration, sign: int = 1) -> dt.datetime:
    seconds = {"TH": 3600, "TM": 60, "TS": 1}
    delta = dt.timedelta(seconds=sum(n * seconds.get(unit, 0) for unit, n in by.amounts) * sign)
    moved = (now.astimezone(dt.UTC) + delta).astimezone(now.tzinfo)
    day = shifted(moved.date(), by, sign) or moved.date()
    return moved.replace(year=day.year, month=day.month, day=day.day)


def _days(tokens: Tokens, at: int, now: dt.datetime) -> Found | None:
    """Read "from monday to friday"."""
    joints = {"from": {"to", "until", "till", "through"}, "between": {"and"}}.get(tokens[at])
    first = date(tokens, at + 1, now.date()) if joints else None
    if first is None or joints is None or tokens[first[1]] not in joints or not first[0].is_day:
        return None
    last = date(tokens, first[1] + 1, first[0].first)
    if last is None or not last[0].is_day:
        return None
    return Found(ValueKind.INTERVAL, f"{first[0].iso}/{last[0].iso}", last[1])


def _recurrence(tokens: Tokens, at: int, now: dt.datetime) -> Found | None:
    """Read "every monday at nine" and the like."""
    if tokens[at] not in {"every", "each"}:
        return None
    word, part, weekday = tokens[at + 1], "", WEEKDAYS.get(tokens[at + 1])
    end = at + 2
    if weekday is not None:
        period = Duration((("W", 1),))
        if tokens[end] in DAY_PARTS:
            part, end = tokens[end], end + 1
    elif word in DAY_PARTS:
        period, part = Duration((("D", 1),)), word
    elif word in _PERIODS:
        period = Duration(((_PERIODS[word], 1),))
    elif word == "other" and tokens[at + 2] in _PERIODS:
        period, end = Duration(((_PERIODS[tokens[at + 2]], 2),)), at + 3
    elif (found := duration(tokens, at + 1)) is not None:
        period, end = found
    else:
        return None
    today = weekday_after(now.date(), weekday) if weekday is not None else now.date()
    told = _pieces(tokens, tokens.skip(end, {"at"}), now) if tokens[end] == "at" else _Pieces(end)
    if told.time is not None:
        time = told.time.of(part or told.part) if part or told.part else told.time
        first = time.on(today, now.tzinfo)
        while first <= now:
            first = time.on(((moved := shifted(first.date(), period)) and moved) or first.date(), now.tzinfo)
            if not period.is_of_days:
                break
        return Found(ValueKind.RECURRENCE, f"R/{iso(first)}/{period.iso}", told.end)
    if not period.is_of_days:
        return Found(ValueKind.RECURRENCE, f"R/{iso(now)}/{period.iso}", end)
    return Found(ValueKind.RECURRENCE, f"R/{one_day(today).iso}/{period.iso}", end)
