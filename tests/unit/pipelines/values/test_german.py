"""Numbers, dates and times in German."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from pipelines.text.values import find_values

NOW = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("halb zehn", [("time", "09:30", "21:30")]),
        ("um Viertel nach drei nachmittags", [("time", "15:15", "")]),
        ("dreiviertel acht", [("time", "07:45", "19:45")]),
        ("zehn vor acht", [("time", "07:50", "19:50")]),
        ("zwanzig Minuten nach sieben", [("time", "07:20", "19:20")]),
        ("neun Uhr dreißig", [("time", "09:30", "21:30")]),
        ("um 14 Uhr", [("time", "14:00", "")]),
        ("14:30 Uhr", [("time", "14:30", "")]),
        ("acht Uhr abends", [("time", "20:00", "")]),
        ("um zwölf Uhr mittags", [("time", "12:00", "")]),
        ("mittag", [("time", "12:00", "")]),
        ("um fünfundzwanzig Uhr", [("number", "25", "")]),
        ("am Montag", [("date", "2026-01-12", "")]),
        ("nächsten Freitag", [("date", "2026-01-09", "")]),
        ("heute", [("date", "2026-01-05", "")]),
        ("übermorgen um zehn", [("date", "2026-01-07", ""), ("time", "10:00", "22:00")]),
        ("am dritten März", [("date", "2026-03-03", "")]),
        ("am ersten Januar", [("date", "2027-01-01", "")]),
        ("der einundzwanzigste Mai", [("date", "2026-05-21", "")]),
        ("am 3. Februar 2027", [("date", "2027-02-03", "")]),
        ("24.12.", [("date", "2026-12-24", "")]),
        ("am 31.2.", []),
        ("in zwei Wochen", [("date", "2026-01-19", "")]),
        ("in zweitausend Tagen", [("duration", "P2000D", "")]),
        ("den 24.", [("ordinal", "24", "")]),
        ("die zweite", [("ordinal", "2", "")]),
        ("zweihundertfünfunddreißig", [("number", "235", "")]),
        ("dreitausendzweihundert", [("number", "3200", "")]),
        ("1.234,5", [("number", "1234.5", "")]),
        ("zwölf Euro fünfzig", [("money", "12.50", "")]),
        ("3,50 €", [("money", "3.50", "")]),
        ("zwanzig Prozent", [("percentage", "20", "")]),
        ("21 Grad", [("temperature", "21", "")]),
        ("zwei Stunden", [("duration", "PT2H", "")]),
        ("ein Tisch", []),
        ("für vier Personen morgen um acht Uhr abends",
         [("number", "4", ""), ("date", "2026-01-06", ""), ("time", "20:00", "")]),
        ("half past nine tomorrow", []),
        ("", []),
    ],
)  # fmt: skip
def test_values(text: str, values: list[tuple[str, str, str]]):
    assert [(one.kind.value, one.value, one.alternative) for one in find_values(text, NOW, "de")] == values


def test_the_next_day_of_a_number():
    assert [one.day for one in find_values("der vierte oder der 31.", NOW, "de")] == ["2026-02-04", "2026-01-31"]


def test_long_texts_cost_little():
    find_values("eins", NOW, "de")
    began = time.process_time()
    assert len(find_values("zwei Tische um halb neun und " * 100, NOW, "de")) == 64
    find_values("neunundneunzig" * 100, NOW, "de")
    assert time.process_time() - began < 0.5
