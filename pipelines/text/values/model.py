"""Values, and the clock for relative dates and times."""

from __future__ import annotations

import datetime as dt
import enum
import zoneinfo
from dataclasses import dataclass, field

from pipelines.errors import InvalidInputError

MIN_YEAR, MAX_YEAR = 1900, 2200
"""Years that the caller's clock may show, so that no arithmetic leaves the calendar."""


class ValueKind(enum.Enum):
    """Kind of a value."""

    DATE = "date"
    TIME = "time"
    DATE_TIME = "date_time"
    INTERVAL = "interval"
    DURATION = "duration"
    RECURRENCE = "recurrence"
    NUMBER = "number"
    ORDINAL = "ordinal"
    MONEY = "money"
    PERCENTAGE = "percentage"
    TEMPERATURE = "temperature"


@dataclass(frozen=True, slots=True)
class Value:
    """Meaning of some words of a text.

    Attributes:
        kind: what it is of.
        value: ISO 8601 for dates and times, else a decimal number.
        start: first code point in the text.
        end: one past the last code point.
        unit: ISO 4217 of money, ``celsius`` or ``fahrenheit`` of a temperature that names its scale; else "".
        alternative: a time of day without "am" or "pm", twelve hours later; else "".
        day: ISO 8601 of the next day that an ordinal may mean, as "the 24th"; else "".
    """

    kind: ValueKind
    value: str
    start: int
    end: int
    unit: str = ""
    alternative: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True)
class CallerClock:
    """The clock of a caller: how far it is from the server's, and its time zone.

    Attributes:
        zone: IANA time zone; None: that of the server.
        offset: what the caller's clock shows more than the server's.
    """

    zone: zoneinfo.ZoneInfo | None = None
    offset: dt.timedelta = field(default_factory=dt.timedelta)

    def now(self) -> dt.datetime:
        """Return the caller's date and time, with its zone."""
        return (dt.datetime.now(dt.UTC) + self.offset).astimezone(self.zone)


def read_clock(zone: str, now: dt.datetime | None, prefix: str = "") -> CallerClock:
    """Make the clock of a caller.

    Args:
        zone: IANA name of a time zone; "" for the server's.
        now: what the caller's clock shows, with a zone; None for the server's clock.
        prefix: of the names of the fields in errors.

    Raises:
        InvalidInputError: there is no such time zone, or the clock shows a year that is out of range.
    """
    known = _zone(zone, f"{prefix}time_zone") if zone else None
    if now is None:
        return CallerClock(known)
    if not MIN_YEAR <= now.year <= MAX_YEAR:
        message = f"the clock shows the year {now.year}: send the present time, or leave it out"
        raise InvalidInputError(f"{prefix}current_time", "BAD_CURRENT_TIME", message)
    return CallerClock(known, now - dt.datetime.now(dt.UTC))


def _zone(name: str, field_name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (LookupError, OSError, ValueError) as error:
        message = "there is no such time zone: send an IANA name such as Europe/Berlin"
        raise InvalidInputError(field_name, "UNKNOWN_TIME_ZONE", message) from error
