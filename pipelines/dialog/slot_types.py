"""Resolved values as those of slots: a date with a time fills both."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import Filled
from pipelines.data.values import ValueKind
from pipelines.dialog.agent.allowed import hour_of
from pipelines.text.language import spoken_language

if TYPE_CHECKING:
    from pipelines.data.values import Value
    from pipelines.dialog.agent.form import Slot

_OLD_SPELLING = re.compile(r"\bto-(morrow|day|night)\b", re.IGNORECASE)
_NAMES = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|christmas|easter|new",
    re.IGNORECASE,
)
"""First words of values that keep their capital."""
ONE_UNIT = re.compile(r"P(?:T(?=\d+[HM]))?(\d+)([DWMYH])")
UNITS = {"D": "day", "W": "week", "Y": "year", "H": "hour"}
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
"""A date of one day, ISO 8601."""
HOURS = 24
_KINDS = frozenset(kind.value for kind in ValueKind)
AMOUNTS = frozenset((ValueKind.MONEY.value, ValueKind.TEMPERATURE.value, ValueKind.PERCENTAGE.value))


def of_type(value: Value, name: str, slot: Slot, text: str) -> Filled | None:
    """Return a resolved value as that of a slot; None: it takes none such.

    Args:
        value: of a turn.
        name: of the slot.
        slot: of an intent.
        text: of the turn.
    """
    found = _read(value, name, slot)
    return Filled(found, as_said(text, value)) if found else None


def _read(value: Value, name: str, slot: Slot) -> str:
    kind, wanted = value.kind, ValueKind(slot.type) if slot.type in _KINDS else None
    first, _, last = value.value.partition("/")
    if wanted is ValueKind.TIME and kind in {ValueKind.TIME, ValueKind.DATE_TIME}:
        clock = slice(11, 16) if kind is ValueKind.DATE_TIME else slice(None)
        return hour_of(slot, value.value[clock], value.alternative[clock])
    if wanted is ValueKind.DATE:
        is_day = kind in {ValueKind.DATE, ValueKind.DATE_TIME} or (
            kind is ValueKind.INTERVAL and _is_part_of_day(first, last)
        )
        # "Next week" is no day.
        return first[:10] if is_day and DAY.match(first) and "P" not in last else ""
    if wanted is ValueKind.NUMBER and kind is ValueKind.DURATION:
        return _counted(value, name)
    return value.value if kind is wanted or (kind.value in AMOUNTS and wanted is ValueKind.NUMBER) else ""


def _counted(value: Value, slot: str) -> str:
    """Return the number of "two days", for a slot that is called days, or ""."""
    found = ONE_UNIT.fullmatch(value.value)
    unit = UNITS.get(found[2] if found else "", "")
    return found[1] if found and unit and unit in slot.lower() else ""


def as_said(text: str, value: Value) -> str:
    """Return a value's words in mid-sentence: "tomorrow" of "To-morrow, please"."""
    said = _OLD_SPELLING.sub(r"to\1", text[value.start : value.end])
    begins = not text[: value.start].strip()
    first = said.split(" ", 1)[0]
    if (language := spoken_language()) is not None:
        # Nouns keep their capital.
        nouns = (*language.values["weekdays"], *language.values["months"])
        return said[:1].lower() + said[1:] if begins and first.lower() not in nouns else said
    return said[:1].lower() + said[1:] if begins and not _NAMES.fullmatch(first) and not first.isupper() else said


def _is_part_of_day(first: str, last: str) -> bool:
    """Return whether an interval is a part of one day, as "Monday morning"."""
    if "T" not in first or "T" not in last:
        return False
    begins, ends = dt.datetime.fromisoformat(first), dt.datetime.fromisoformat(last)
    return ends - begins <= dt.timedelta(hours=HOURS / 2) and begins.date() == (ends - dt.timedelta(seconds=1)).date()
