"""No slot begins or ends inside a word."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.bert.slots import Slot
from engines.bert.word_edges import whole_words


def cuts_a_word(text: str, slot: Slot) -> bool:
    """Whether an edge stands between two characters of a word; the "'s" of an owner is a word of its own."""
    words = [match.span() for match in re.finditer(r"(?:(?!['\u2019]s\b)[\w'\u2019&/@%$])+", text)]
    return any(start < edge < end for start, end in words for edge in (slot.start, slot.end))


@pytest.mark.parametrize(
    ("text", "marked", "whole"),
    [
        ("wake me at seven o'clock tomorrow", "seven o", "seven o'clock"),
        ("the weather in st. john's", "st. john", "st. john's"),
        ("take me to st. john's hospital", "st. john", "st. john's"),
        ("play rock'n'roll", "n", "rock'n'roll"),
        ("read me today's news", "today", "today"),
        ("order from domino's for dinner", "domino", "domino's"),
        ("set it to 7:30, please", "30", "7:30"),
        ("dim it to 50%", "50", "50%"),
        ("add 1,250 to it", "250", "1,250"),
        ("in paris,france", "paris", "paris"),
        ('play "yesterday"', "yesterday", "yesterday"),
    ],
)
def test_edges_are_moved_outwards(text: str, marked: str, whole: str):
    start = text.index(marked) if marked != "n" else text.index("n'roll")
    (slot,) = whole_words(text, [Slot("x", start, start + len(marked))])
    assert text[slot.start : slot.end] == whole


def test_slots_that_meet_in_a_word_do_not_overlap():
    text = "from 7pm/8pm on"
    found = whole_words(text, [Slot("a", 5, 8), Slot("b", 9, 12)])
    assert [(slot.name, text[slot.start : slot.end]) for slot in found] == [("a", "7pm/8pm")]


@given(st.text("ab '-.,/", max_size=20), st.lists(st.integers(0, 20), min_size=2, max_size=4, unique=True))
def test_slots_stay_in_order_and_inside(text: str, edges: list[int]):
    inside = sorted({edge for edge in edges if edge <= len(text)})
    slots = [Slot("x", start, end) for start, end in itertools.pairwise(inside)]
    found = whole_words(text, slots)
    assert all(0 <= slot.start < slot.end <= len(text) for slot in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
