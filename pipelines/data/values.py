"""Values of a text, and the clock of its caller."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zoneinfo


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
