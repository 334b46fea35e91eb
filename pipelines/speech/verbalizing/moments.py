"""Dates and times in words."""

from __future__ import annotations

import re

from pipelines.speech.verbalizing.numbers import cardinal, digits, ordinal, year

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"),
    "December",
)
_NUMBERS = {month[:3].lower(): number for number, month in enumerate(MONTHS, start=1)}
_PARTS = re.compile(r"[\s/.,-]+")


def clock_time(hour: str, minute: str, second: str = "", half_day: str = "") -> str | None:
    """Return a time of day; None where it is none.

    Args:
        hour: 0 to 24.
        minute: "" for none.
        second: "" for none.
        half_day: ``a`` or ``p``; "" for none.
    """
    if int(hour) > 24 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    words = [cardinal(str(int(hour)))]
    if int(minute or 0):
        words.append(f"oh {digits(minute[-1])}" if int(minute) < 10 else cardinal(minute))
    elif minute and not half_day and not second:
        words.append("o'clock" if 1 <= int(hour) <= 12 else "hundred hours" if int(hour) else "hours")
    if second:
        words.append(f"and {cardinal(str(int(second)))} second{'' if int(second) == 1 else 's'}")
    if half_day:
        words.append(f"{half_day.upper()}M")
    return " ".join(words)


def date(year_figures: str, month: int, day: int) -> str | None:
    """Return a date in words, "March third, twenty twenty four"; None for none."""
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    spoken = f"{MONTHS[month - 1]} {ordinal(str(day))}"
    return f"{spoken}, {year(full_year(year_figures))}" if year_figures else spoken


def full_year(figures: str) -> str:
    """Return a year of two figures with its century: from 1950 to 2049."""
    return figures if len(figures) != 2 else ("19" if int(figures) >= 50 else "20") + figures


def month_number(name: str) -> int:
    """Return the number of a month by its name or first three letters."""
    return _NUMBERS[name[:3].lower()]


def date_in(text: str, order: str) -> str | None:
    """Return a date with parts in a known order, or None.

    Args:
        text: such as "3/4/2024".
        order: letters y, m and d, such as ``dmy``, ``ymd`` or ``my``; "" for the American order, or the year first.
    """
    parts = [part for part in _PARTS.split(text.strip()) if part]
    if not order:
        order = "ymd" if parts and len(parts[0]) == 4 else "mdy"[: max(len(parts), 1)]
    order = "".join(letter for letter in order if letter in "ymd")
    if len(parts) != len(order) or not parts:
        return None
    named = dict(zip(order, parts, strict=True))
    try:
        month = named.get("m", "")
        number = month_number(month) if month.isalpha() else int(month or 0)
        year_figures = full_year(named["y"]) if "y" in named else ""
        if "d" in named and number:
            return date(year_figures, number, int(re.sub(r"\D", "", named["d"])))
        if number:
            return f"{MONTHS[number - 1]}{f' {year(year_figures)}' if year_figures else ''}" if number <= 12 else None
        if "d" in named:
            return f"the {ordinal(str(int(named['d'])))}"
        return year(year_figures)
    except (KeyError, ValueError):
        return None
