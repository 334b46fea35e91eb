"""Durations: "two and a half hours", "ten minutes and thirty seconds"."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from pipelines.text.values.numerals import number

if TYPE_CHECKING:
    from pipelines.text.values.tokens import Tokens

_UNITS = {
    **dict.fromkeys(("year", "years"), "Y"),
    **dict.fromkeys(("month", "months"), "M"),
    **dict.fromkeys(("week", "weeks", "fortnight", "fortnights"), "W"),
    **dict.fromkeys(("day", "days"), "D"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), "TH"),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), "TM"),
    **dict.fromkeys(("second", "seconds", "sec", "secs"), "TS"),
}
UNIT_WORDS = frozenset(_UNITS)
_PARTS = {"Y": (12, "M"), "W": (7, "D"), "D": (24, "TH"), "TH": (60, "TM"), "TM": (60, "TS")}
_ORDER = ("Y", "M", "W", "D", "TH", "TM", "TS")
MAX_COUNT = 10_000
"""Most years, days … of a duration, so that no arithmetic leaves the calendar by far."""


@dataclass(frozen=True, slots=True)
class Duration:
    """Amounts by unit: "Y", "M", "W", "D", "TH", "TM" and "TS", as in ISO 8601."""

    amounts: tuple[tuple[str, int], ...]

    @property
    def iso(self) -> str:
        """ISO 8601: "P2W", "PT1H30M"."""
        days = "".join(f"{n}{unit}" for unit, n in self.amounts if unit[0] != "T")
        times = "".join(f"{n}{unit[1]}" for unit, n in self.amounts if unit[0] == "T")
        return f"P{days}{'T' if times else ''}{times}"

    @property
    def is_of_days(self) -> bool:
        """True without hours, minutes and seconds."""
        return all(unit[0] != "T" for unit, _ in self.amounts)


def duration(tokens: Tokens, at: int) -> tuple[Duration, int] | None:
    """Read a duration."""
    found = _part(tokens, at)
    if found is None:
        return None
    amounts, end = found
    while True:
        following = end + 1 if tokens[end] in {"and", ","} else end
        more = _part(tokens, following)
        if more is None or _ORDER.index(more[0][0][0]) <= _ORDER.index(amounts[-1][0]):
            break
        amounts, end = amounts + more[0], more[1]
    return _normal(amounts), end


def _part(tokens: Tokens, at: int) -> tuple[list[tuple[str, Decimal]], int] | None:
    """Read one amount with its unit."""
    if tokens[at] == "half" and tokens[at + 1] in {"a", "an"} and tokens[at + 2] in _UNITS:
        return _amount(tokens[at + 2], Decimal("0.5")), at + 3
    if tokens[at] in {"a", "an"} and tokens[at + 1] == "half" and tokens[at + 2] in _UNITS:
        return _amount(tokens[at + 2], Decimal("0.5")), at + 3
    quarters = {"a": 1, "three": 3}.get(tokens[at], 0)
    if quarters and tokens[at + 1] in {"quarter", "quarters"} and tokens[at + 2] == "of" and tokens[at + 4] in _UNITS:
        return _amount(tokens[at + 4], Decimal(quarters) / 4), at + 5
    if tokens[at] in {"a", "an"} and tokens[at + 1] in _UNITS:
        count, end = Decimal(1), at + 1
    elif tokens.have(at, "a", "couple", "of"):
        count, end = Decimal(2), at + 3
    else:
        found = number(tokens, at)
        if found is None:
            return None
        count, end = found
        end = end + 1 if tokens[end] == "-" else end
    if tokens[end] not in _UNITS or not 0 <= count <= MAX_COUNT:
        return None
    unit, end = tokens[end], end + 1
    # "an hour and a half", but not "an hour and a half hour".
    if tokens.have(end, "and", "a", "half") and tokens[end + 3] not in _UNITS:
        count, end = count + Decimal("0.5"), end + 3
    return _amount(unit, count), end


def _amount(unit: str, count: Decimal) -> list[tuple[str, Decimal]]:
    return [(_UNITS[unit], count * 2 if unit.startswith("fortnight") else count)]


def _normal(amounts: list[tuple[str, Decimal]]) -> Duration:
    """Normalize fractions to smaller units, and seconds over a minute."""
    whole: dict[str, Decimal] = {}
    for unit, count in amounts:
        name, left = unit, count
        while left and name in _PARTS and left != left.to_integral_value():
            whole[name] = whole.get(name, Decimal(0)) + left.to_integral_value("ROUND_FLOOR")
            factor, smaller = _PARTS[name]
            left, name = (left - left.to_integral_value("ROUND_FLOOR")) * factor, smaller
        whole[name] = whole.get(name, Decimal(0)) + left.to_integral_value()
    seconds = whole.get("TS", Decimal(0))
    if seconds >= 60 and not seconds.is_zero():
        whole["TM"], whole["TS"] = whole.get("TM", Decimal(0)) + seconds // 60, seconds % 60
    kept = tuple((unit, int(whole[unit])) for unit in _ORDER if whole.get(unit))
    return Duration(kept or ((amounts[0][0], 0),))
