"""Values, and the clock for relative dates and times."""

from __future__ import annotations

import datetime as dt
import zoneinfo

from pipelines.data.values import CallerClock
from pipelines.errors import InvalidInputError

MIN_YEAR, MAX_YEAR = 1900, 2200
"""Years that the caller's clock may show, so that no arithmetic leaves the calendar."""


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
