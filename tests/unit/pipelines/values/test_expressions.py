"""The expressions of ``expressions.txt``, the half for tuning and the half for the report."""

import datetime as dt
import zoneinfo
from pathlib import Path

import pytest

from pipelines.data.values import ValueKind
from pipelines.errors import InvalidInputError
from pipelines.text.values import find_values, read_clock, resolve

NOW = dt.datetime(2026, 11, 26, 15, 0, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
LINES = [
    [part.strip() for part in line.split("|")]
    for line in Path(__file__).with_name("expressions.txt").read_text().splitlines()
    if not line.startswith("#")
]
MIN_SHARE = 0.95


def is_right(text: str, kind: str, value: str, unit: str = "") -> bool:
    found = find_values(text, NOW)
    return [(one.kind.value, one.value, one.unit) for one in found] == [(kind, value, unit)]


def test_expressions_for_tuning_are_resolved():
    assert [line for line in LINES[::2] if not is_right(*line)] == []


def test_expressions_for_the_report_are_resolved():
    report = LINES[1::2]
    assert sum(is_right(*line) for line in report) >= MIN_SHARE * len(report)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Wake me up at seven o'clock tomorrow.", [("seven o'clock tomorrow", "2026-11-27T07:00:00+01:00")]),
        ("book a table for two at eight tonight", [("two", "2"), ("eight tonight", "2026-11-26T20:00:00+01:00")]),
        ("turn it up by ten", [("ten", "10")]),
        ("from ten to five", [("from ten to five", "10:00/17:00")]),
        ("call me on Monday, and pay $12.50", [("Monday", "2026-11-30"), ("$12.50", "12.50")]),
        ("play one of my songs", []),
        ("my number is five five five, eight six seven, five three oh nine", []),
        ("version two point one point three", []),
        ("the 31st of February", []),
        ("call on February 30th at five", [("five", "05:00")]),
        ("June 31, please", []),
        ("on Friday the 31st of April", []),
        ("the 29th of February 2027", []),
        ("February 29", [("February 29", "2028-02-29")]),
        ("on 12/24", [("12/24", "2026-12-24")]),
        ("24/12", [("24/12", "2026-12-24")]),
        ("2/30", []),
        ("open 24/7", []),
        ("1/2 cup of milk", []),
        ("31 people may come", [("31", "31")]),
        ("half a dozen", [("half a dozen", "6")]),
        ("half-past nine", [("half-past nine", "09:30")]),
        ("ten-thirty", [("ten-thirty", "10:30")]),
        ("three and a half million", [("three and a half million", "3500000")]),
        ("nine euros fifty, please", [("nine euros fifty", "9.50")]),
        ("ten dollars twenty people", [("ten dollars", "10"), ("twenty", "20")]),
        ("2.300,75 €", [("2.300,75 €", "2300.75")]),
        ("sixteen hundred hours", [("sixteen hundred hours", "16:00")]),
        ("a fortnight from Friday", [("a fortnight from Friday", "2026-12-11")]),
        ("half an hour before nine", [("half an hour before nine", "08:30")]),
        ("may I march to the kitchen in a minute", [("in a minute", "2026-11-26T15:01:00+01:00")]),
        ("", []),
    ],
)
def test_values_stand_where_they_were_said(text: str, values: list[tuple[str, str]]):
    assert [(text[value.start : value.end], value.value) for value in find_values(text, NOW)] == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Wake me up at seven thirty to-morrow morning.", "2026-11-27T07:30:00+01:00"),
        ("To-night at nine.", "2026-11-26T21:00:00+01:00"),
    ],
)
def test_old_spellings_are_read(text: str, value: str):
    assert is_right(text, "date_time", value)


def test_a_time_without_half_of_the_day_tells_the_other_one():
    (value,) = find_values("at five", NOW)
    assert (value.value, value.alternative) == ("05:00", "17:00")
    (value,) = find_values("at five pm", NOW)
    assert (value.value, value.alternative) == ("17:00", "")


@pytest.mark.parametrize(
    ("text", "slot", "kind", "value"),
    [
        ("wake me at seven thirty tomorrow evening", "seven thirty", ValueKind.TIME, "19:30"),
        ("wake me at seven thirty tomorrow evening", "tomorrow evening", ValueKind.INTERVAL, None),
        ("wake me up at seven o'clock tomorrow", "seven o'clock", ValueKind.TIME, "07:00"),
        ("wake me up at seven o'clock tomorrow", "tomorrow", ValueKind.DATE, "2026-11-27"),
        ("dim the lights by fifty percent", "by fifty percent", ValueKind.PERCENTAGE, "50"),
    ],
)
def test_slots_have_the_value_of_their_part(text: str, slot: str, kind: ValueKind, value: str | None):
    start = text.index(slot)
    found = resolve(text, start, start + len(slot), find_values(text, NOW), NOW)
    assert found is not None
    assert found.kind is kind
    assert value in {None, found.value}


def test_slots_without_values_have_none():
    text = "play some jazz at nine"
    assert resolve(text, 5, 14, find_values(text, NOW), NOW) is None


@pytest.mark.parametrize(
    ("now", "text", "value"),
    [
        (dt.datetime(2027, 3, 27, 23, 0, tzinfo=NOW.tzinfo), "in four hours", "2027-03-28T04:00:00+02:00"),
        (dt.datetime(2028, 2, 29, 12, 0, tzinfo=NOW.tzinfo), "in a year", "2029-02-28"),
        (dt.datetime(2026, 12, 31, 12, 0, tzinfo=NOW.tzinfo), "next month", "2027-01"),
        (dt.datetime(2026, 12, 31, 12, 0, tzinfo=NOW.tzinfo), "tomorrow at noon", "2027-01-01T12:00:00+01:00"),
        (dt.datetime(2027, 1, 31, 12, 0, tzinfo=NOW.tzinfo), "in a month", "2027-02-28"),
    ],
)
def test_calendars_have_their_edges(now: dt.datetime, text: str, value: str):
    assert [found.value for found in find_values(text, now)] == [value]


def test_the_clock_of_a_caller_is_followed():
    shown = dt.datetime(2030, 1, 1, 8, 0, tzinfo=dt.UTC)
    now = read_clock("Asia/Tokyo", shown).now()
    assert abs(now - shown) < dt.timedelta(seconds=5)
    assert now.utcoffset() == dt.timedelta(hours=9)


def test_without_a_clock_the_server_tells_the_time():
    now = read_clock("", None).now()
    assert abs(now - dt.datetime.now(dt.UTC)) < dt.timedelta(seconds=5)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "\x00"])
def test_unknown_time_zones_are_refused(zone: str):
    with pytest.raises(InvalidInputError, match="IANA name"):
        read_clock(zone, None)


def test_clocks_of_another_age_are_refused():
    with pytest.raises(InvalidInputError, match="present time"):
        read_clock("", dt.datetime(1, 1, 1, tzinfo=dt.UTC))
