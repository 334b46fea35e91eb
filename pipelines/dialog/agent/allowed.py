"""Check of a slot's value against what its agent allows."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from pipelines.data.values import ValueKind
from pipelines.dialog.agent.form import DICTATED, TEXT, WEEKDAYS, Allowed
from pipelines.text.language import worded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.dialog.agent.form import Slot

IN_THE_PAST = "That day is over."
"""Said to a past date where the slot says nothing of its own."""
_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
_DATE, _CLOCK = ValueKind.DATE.value, ValueKind.TIME.value
_COUNTED = frozenset(
    kind.value
    for kind in (ValueKind.NUMBER, ValueKind.ORDINAL, ValueKind.MONEY, ValueKind.PERCENTAGE, ValueKind.TEMPERATURE)
)


def refusal(slot: Slot, value: str, today: str = "") -> str:
    """Return the words that refuse a value; "" where the slot takes it.

    Args:
        slot: of an intent.
        value: ISO 8601, a decimal number, or words.
        today: date of the caller, ISO 8601; "": not known.
    """
    allowed = slot.allow
    if slot.future and today and value < today:
        return allowed.refused if allowed is not None else worded("past", IN_THE_PAST)
    if allowed is None:
        return ""
    is_between = allowed.between is None or _is_between(slot.type, value, *allowed.between)
    is_on = not allowed.not_on or _weekday(value) not in allowed.not_on
    is_formed = allowed.pattern is None or re.fullmatch(allowed.pattern, value) is not None
    return "" if is_between and is_on and is_formed else refused_by(allowed)


def refused_by(allowed: Allowed | None) -> str:
    """Return the words that refuse a value."""
    usual = Allowed().refused
    return worded("refused", usual) if allowed is None or allowed.refused == usual else allowed.refused


def hour_of(slot: Slot, value: str, alternative: str) -> str:
    """Return which of two times, twelve hours apart, a slot means.

    Args:
        slot: of an intent.
        value: ``HH:MM``, as it was said.
        alternative: twelve hours later; "": the half of the day was said.
    """
    if not alternative:
        return value
    fitting = [one for one in (value, alternative) if not refusal(slot, one)]
    if len(fitting) == 1:
        return fitting[0]
    return alternative if slot.prefer == "pm" else value


def faults_of(slot: Slot) -> Iterator[tuple[str, str]]:
    """Yield faults of a slot's rules: the key, and the fault with its cure."""
    if slot.several and slot.type != "closed":
        yield "several", "`several` belongs to closed slots: write `type: closed`, or remove it"
    if slot.future and slot.type != _DATE:
        yield "future", "`future` belongs to dates: write `type: date`, or remove it"
    if slot.prefer and slot.type != _CLOCK:
        yield "prefer", "`prefer` belongs to times: write `type: time`, or remove it"
    if slot.allow is None:
        return
    if slot.allow.not_on and slot.type != _DATE:
        yield "allow", "`not_on` belongs to dates: write `type: date`, or remove it"
    if slot.allow.pattern is not None:
        if slot.type not in {TEXT, *DICTATED}:
            yield "allow", "`pattern` belongs to texts and what is dictated: remove it"
        try:
            re.compile(slot.allow.pattern)
        except re.error as error:
            yield "allow", f"`pattern` is no regular expression ({error}): correct it"
    if slot.allow.between is not None:
        yield from (("allow", fault) for fault in _faults_of_bounds(slot.type, *slot.allow.between))


def _faults_of_bounds(kind: str, least: str, most: str) -> Iterator[str]:
    if kind not in {*_COUNTED, _CLOCK, _DATE}:
        yield "`between` belongs to numbers, amounts, times and dates: remove it"
        return
    for bound in (least, most):
        is_written = _TIME.fullmatch(bound) if kind == _CLOCK else _is_date(bound) if kind == _DATE else _number(bound)
        if not is_written:
            form = {_CLOCK: "a time such as '09:00'", _DATE: "a date such as '2026-01-31'"}.get(kind, "a number")
            yield f"`between`: {bound!r} is not {form}: write it so, in quotes"
            return
    if not _is_between(kind, least, least, most):
        yield f"`between`: {least!r} is more than {most!r}, so that every value is refused: exchange them"


def _is_between(kind: str, value: str, least: str, most: str) -> bool:
    if kind in _COUNTED:
        number, low, high = (float(one) if _number(one) else 0.0 for one in (value, least, most))
        return low <= number <= high
    return least <= value <= most


def _number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", text) is not None


def _is_date(text: str) -> bool:
    try:
        return bool(dt.date.fromisoformat(text))
    except ValueError:
        return False


def _weekday(value: str) -> str:
    return WEEKDAYS[dt.date.fromisoformat(value).weekday()] if _is_date(value) else ""
