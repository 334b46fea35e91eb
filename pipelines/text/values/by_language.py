"""Numbers, dates and times of languages that have a file of words."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pipelines.data.values import Value, ValueKind
from pipelines.text.language import language_of, spoken_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_CHARACTERS = 1_000
MAX_VALUES = 64
MAX_DAYS = 1_000
"""From now on, of "in so many days"."""
_FIGURES = r"\d+(?:\.\d{3})*(?:,\d+)?"
_HOURS, _MINUTES = 24, 60
_NOON = 12

Found = tuple[ValueKind, str, str, str]
"""Kind, value, unit, alternative."""
_IMPOSSIBLE: Found = (ValueKind.DATE, "", "", "")
"""A day that there is not: no part of it is a value."""


@dataclass(frozen=True)
class _Grammar:
    patterns: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], dt.datetime], Found | None]], ...]


def find_values_in(language: str, text: str, now: dt.datetime) -> tuple[Value, ...]:
    """Find the values of a text of a language, in its order; see ``find_values``."""
    text = text[:MAX_CHARACTERS]
    found: list[Value] = []
    at, lower = 0, text.lower()
    begins = [match.start() for match in re.finditer(r"(?<![^\W_])[^\W_]", lower)]
    for start in begins:
        if start < at or len(found) == MAX_VALUES:
            continue
        best: tuple[int, Found] | None = None
        for pattern, read in _grammar(language).patterns:
            match = pattern.match(lower, start)
            if match is not None and (best is None or match.end() > best[0]) and (told := read(match, now)) is not None:
                best = (match.end(), told)
        if best is not None:
            kind, value, unit, alternative = best[1]
            day = ""
            if kind is ValueKind.ORDINAL and value.isdecimal():
                day = _next_day(now.date(), int(value))
            if value:
                found.append(Value(kind, value, start, best[0], unit, alternative, day))
            at = best[0]
    return tuple(found)


def said_of(value: str) -> str:
    """Return an ISO date or time in the present language; all else as it is."""
    told = spoken_language()
    if told is None:
        return value
    words = told.values
    if time := re.fullmatch(r"(\d{2}):(\d{2})", value):
        minute = "" if time[2] == "00" else f" {int(time[2])}"
        return str(words["say_time"]).format(hour=int(time[1]), minute=minute)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        day = dt.date.fromisoformat(value)
        return str(words["say_date"]).format(day=day.day, month=str(words["months"][day.month - 1]).capitalize())
    return value


@lru_cache(8)
def _grammar(code: str) -> _Grammar:
    language = language_of(code)
    assert language is not None
    return _Grammar(tuple(_patterns(code, language.values)))


@lru_cache(8)
def _numbers(code: str) -> Mapping[str, int]:
    """Return all number words up to 999, with multiples of a thousand."""
    language = language_of(code)
    assert language is not None
    words = language.values
    small: dict[str, int] = {**words["units"], **words["tens"]}
    ones = {word: number for word, number in words["units"].items() if 0 < number < 10}
    small |= {f"{one}{words['joint']}{ten}": a + b for one, a in ones.items() for ten, b in words["tens"].items()}
    hundred = next(word for word, value in words["powers"].items() if value == 100)
    thousand = next(word for word, value in words["powers"].items() if value == 1000)
    hundreds = {f"{one}{hundred}": number * 100 for one, number in {"": 1, **ones}.items()}
    below = small | hundreds
    below |= {f"{many}{rest}": a + b for many, a in hundreds.items() for rest, b in small.items() if b}
    whole = dict(below)
    for many, a in {"": 1, **{word: number for word, number in small.items() if number}}.items():
        whole[f"{many}{thousand}"] = a * 1000
        whole |= {f"{many}{thousand}{rest}": a * 1000 + b for rest, b in hundreds.items()}
    return whole


def _number(numbers: Mapping[str, int], text: str) -> str:
    """Return a number as decimal figures; "" where it is none."""
    if text[0].isdecimal():
        return text.replace(".", "").replace(",", ".")
    return str(numbers[text]) if text in numbers else ""


def _patterns(code: str, words: Mapping[str, Any]) -> Iterator[tuple[re.Pattern[str], Callable[..., Found | None]]]:
    numbers = _numbers(code)
    # A word that is no number is left out when its meaning is read.
    number = rf"(?:{_FIGURES}|[^\W\d_]+)"
    hour_words = "|".join(sorted((word for word, n in numbers.items() if n <= _HOURS), key=len, reverse=True))
    minute_words = "|".join(sorted((word for word, n in numbers.items() if n < _MINUTES), key=len, reverse=True))
    hour, minute = rf"(?P<hour>\d{{1,2}}|{hour_words})", rf"(?P<minute>\d{{1,2}}|{minute_words})"
    parts = rf"(?:(?P<am>{words['am']})|(?P<pm>{words['pm']}))?"

    def compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(rf"(?:{pattern})(?![^\W_])")

    def figure(text: str) -> int:
        return int(_number(numbers, text))

    def counted(match: re.Match[str], kind: ValueKind, form: str = "{n}", unit: str = "") -> Found | None:
        found = _number(numbers, match["n"])
        return (kind, form.format(n=found), unit, "") if found else None

    def clock(match: re.Match[str], form: Mapping[str, Any]) -> Found | None:
        groups = match.groupdict()
        at = int(form["hour"]) if "hour" in form else figure(groups["hour"])
        minutes = form.get("minutes")
        if minutes is None:
            minutes = int(form["sign"]) * figure(groups["minute"])
        if at > _HOURS or abs(minutes) >= _MINUTES:
            return None
        is_told = "hour" in form or bool(groups.get("am") or groups.get("pm")) or at > _NOON or at == 0
        if groups.get("pm") and at < _NOON:
            at += _NOON
        total = (at * _MINUTES + minutes) % (_HOURS * _MINUTES)
        other = (total + _NOON * _MINUTES) % (_HOURS * _MINUTES)
        alternative = "" if is_told else f"{other // _MINUTES:02}:{other % _MINUTES:02}"
        return ValueKind.TIME, f"{total // _MINUTES:02}:{total % _MINUTES:02}", "", alternative

    for form in words["times"]:
        text = str(form["say"]).replace("{hour}", hour).replace("{minute}", minute)
        yield compiled(rf"{words['time_before']}{text}{parts}"), lambda match, _now, form=form: clock(match, form)
    written = rf"{words['time_before']}(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}}){words['time_after']}{parts}"
    yield compiled(written), lambda match, _now: clock(match, {"sign": 1})
    yield compiled(rf"{hour}{parts[:-1]}"), lambda match, _now: clock(match, {"minutes": 0})
    yield from ((compiled(text), read) for text, read in _dates(words, numbers, number))
    for unit, currency in words["money"].items():
        text = rf"(?P<n>{number}) ?{unit}(?: (?:und )?(?P<c>{minute_words}|\d{{2}})(?! ?{unit}))?"
        yield (
            re.compile(rf"(?:{text})(?![^\W_])"),
            lambda match, _now, currency=currency: _money(numbers, match, currency),
        )
    for name, kind, unit in (("percent", ValueKind.PERCENTAGE, ""), ("degrees", ValueKind.TEMPERATURE, "celsius")):
        yield (
            re.compile(rf"(?P<n>{number}) ?{words[name]}(?![^\W_])"),
            lambda match, _now, kind=kind, unit=unit: counted(match, kind, unit=unit),
        )
    for unit, iso in words["durations"].items():
        yield (
            compiled(rf"(?P<n>{number}) {unit}"),
            lambda match, _now, iso=iso: counted(match, ValueKind.DURATION, iso),
        )
    articles = "|".join(words["articles"])
    yield (
        compiled(rf"(?!(?:{articles})\b)(?P<n>{number})"),
        lambda match, _now: counted(match, ValueKind.NUMBER),
    )


def _money(numbers: Mapping[str, int], match: re.Match[str], currency: str) -> Found | None:
    whole = _number(numbers, match["n"])
    cents = f".{int(_number(numbers, match['c'])):02}" if match["c"] else ""
    if not whole:
        return None
    return ValueKind.MONEY, f"{whole}{cents}", currency, ""


def _dates(
    words: Mapping[str, Any], numbers: Mapping[str, int], number: str
) -> Iterator[tuple[str, Callable[..., Found | None]]]:
    weekdays, months = list(words["weekdays"]), list(words["months"])
    names = {**{day: at for at, day in enumerate(weekdays)}}
    names |= {other: names[day] for other, day in words["weekday_synonyms"].items()}
    ordinals = dict(words["ordinals"])
    for word, value in numbers.items():
        if 12 < value <= 31:
            ordinals.setdefault(word + words["ordinal_endings"][value >= 20], value)
    stems = "|".join(sorted(ordinals, key=len, reverse=True))
    day = rf"(?P<day>\d{{1,2}}(?=\.)|{stems})(?:\.|[{''.join(words['ordinal_inflections'])}])?"

    def told(value: str) -> int:
        return ordinals[value] if value in ordinals else int(value)

    def date(year: int | None, month: int, day_: int, now: dt.datetime) -> Found | None:
        try:
            found = dt.date(year or now.year, month, day_)
            if year is None and found < now.date():
                found = dt.date(now.year + 1, month, day_)
        except ValueError:
            return _IMPOSSIBLE
        return ValueKind.DATE, found.isoformat(), "", ""

    def shifted(days: int, now: dt.datetime) -> Found:
        return ValueKind.DATE, (now.date() + dt.timedelta(days=days)).isoformat(), "", ""

    relative = "|".join(sorted(words["days"], key=len, reverse=True))
    yield rf"(?P<word>{relative})", lambda match, now: shifted(words["days"][match["word"]], now)
    yield (
        rf"{words['weekday_before']}(?P<word>{'|'.join(names)})",
        lambda match, now: shifted((names[match["word"]] - now.weekday() - 1) % 7 + 1, now),
    )
    yield (
        str(words["in_days"]).replace("{n}", rf"(?P<n>{number})"),
        lambda match, now: (
            shifted(int(count) * words["day_units"][match["unit"]], now)
            if (count := _number(numbers, match["n"])).isdecimal() and int(count) <= MAX_DAYS
            else None
        ),
    )
    yield (
        rf"{words['date_before']}{day} (?P<month>{'|'.join(months)})(?: (?P<year>\d{{4}}))?",
        lambda match, now: date(
            int(match["year"]) if match["year"] else None, months.index(match["month"]) + 1, told(match["day"]), now
        ),
    )
    yield (
        rf"{words['date_before']}(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}})?",
        lambda match, now: date(
            int(match["year"]) if match["year"] else None, int(match["month"]), int(match["day"]), now
        ),
    )
    yield rf"{words['date_before']}{day}", lambda match, _now: (ValueKind.ORDINAL, str(told(match["day"])), "", "")


def _next_day(today: dt.date, number: int) -> str:
    """Return the next day of a number, in this month or a later one."""
    for months in range(12):
        year, month = divmod(today.month - 1 + months, 12)
        try:
            day = dt.date(today.year + year, month + 1, number)
        except ValueError:
            continue
        if day >= today:
            return day.isoformat()
    return ""
