"""Whatever is said, values are found without an error, in the order of the text."""

import datetime as dt
import itertools
import zoneinfo
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from pipelines.text.values import find_values, resolver

NOW = dt.datetime(2026, 11, 26, 15, 0, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
_LISTED = (
    "at in on the a of from to between and every next last this half past quarter ten two seven twenty thirty "
    "oh hundred thousand million point minus percent dollars degrees celsius first third seconds minute hours "
    "day weeks month year years monday friday june may morning evening night tonight tomorrow noon midnight am "
    "pm o'clock ago now right 5 12 30 1971 7:30 24:99 12/24/2026 99/99/99 2027-02-30 $ € % ° - , . 3rd "
    "99999999999 before after double couple quarters other week weekend dozen new year's christmas eve "
    "light "
)
WORDS = _LISTED.split()


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=40))
def test_values_stand_in_order_inside_the_text(text: str):
    found = find_values(text, NOW)
    assert all(0 <= value.start < value.end <= len(text) for value in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_nothing_is_lost_where_nothing_is_looked_for(text: str):
    with mock.patch.object(resolver, "beginnings", lambda words: list(range(len(words)))):
        everywhere = find_values(text, NOW)
    assert find_values(text, NOW) == everywhere


def test_of_a_text_without_end_only_the_beginning_is_read():
    said = "at seven thirty " + "word " * 100_000 + "at eight"
    (value,) = find_values(said, NOW)
    assert said[value.start : value.end].endswith("seven thirty")
