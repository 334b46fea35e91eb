from __future__ import annotations

import json

import pytest

from engines.bert.closed_slots import ClosedSlots
from engines.bert.slots import Slot
from engines.bert.spoken_words import say_number, spoken_form, spoken_words

VALUES = {
    "size": ["small", "medium", "large", "twelve ounce", "sixteen ounce"],
    "dough": ["medium dough", "thin dough"],
    "topping": ["cheese", "a little bit of cheese", "lots of cheese", "ham", "smoked ham"],
}
CITIES = {"from": ["Rome", "Oslo"], "to": ["Rome", "Lima"]}


@pytest.fixture
def closed() -> ClosedSlots:
    return ClosedSlots(VALUES)


def mark(text: str, **marked: str) -> list[Slot]:
    return [Slot(name, text.index(part), text.index(part) + len(part)) for name, part in marked.items()]


def values_of(slots: tuple[Slot, ...]) -> dict[str, str]:
    return {slot.name: slot.value for slot in slots}


def test_values_are_found_though_the_tagger_missed_them_and_the_longest_counts(closed):
    text = "a medium medium dough pizza with a little bit of cheese"
    slots = closed.settle(text, ())
    assert values_of(slots) == {"size": "medium", "dough": "medium dough", "topping": "a little bit of cheese"}
    assert [text[slot.start : slot.end] for slot in slots] == ["medium", "medium dough", "a little bit of cheese"]


@pytest.mark.parametrize("said", ["12 oz", "12 ounce", "12oz.", "Twelve Ounce", "twelve ounces"])
def test_numbers_and_units_are_read_as_spoken(closed, said):
    text = f"a {said} pizza"
    assert values_of(closed.settle(text, mark(text, size=said))) == {"size": "twelve ounce"}


@pytest.mark.parametrize(
    ("heard", "value"),
    [("smoked hem", "smoked ham"), ("smoke ham", "smoked ham"), ("lots of cheeze", "lots of cheese")],
)
def test_what_was_misheard_is_resolved_by_sound_and_spelling(closed, heard, value):
    text = f"put {heard} on it"
    assert values_of(closed.settle(text, mark(text, topping=heard))) == {"topping": value}


def test_a_slot_that_is_like_no_value_is_dropped(closed):
    text = "a pizza with pineapple"
    assert closed.settle(text, mark(text, topping="pineapple")) == ()
    assert closed.resolve("topping", "pineapple") is None


def test_a_value_reaches_beyond_what_the_tagger_marked(closed):
    text = "give me a litle bit of cheese on it"
    assert values_of(closed.settle(text, mark(text, topping="cheese"))) == {"topping": "a little bit of cheese"}


def test_an_open_slot_has_no_value_to_be_like(closed):
    assert closed.resolve("person", "smoked ham lovers") is None


def test_open_slots_stay_and_keep_their_words(closed):
    text = "a small pizza for smoked ham lovers"
    slots = closed.settle(text, mark(text, person="smoked ham lovers"))
    assert values_of(slots) == {"size": "small", "person": ""}
    assert text[slots[1].start : slots[1].end] == "smoked ham lovers"


def test_a_value_that_two_slots_share_is_left_to_the_tagger():
    closed = ClosedSlots(CITIES)
    text = "a flight to Rome"
    assert closed.settle(text, ()) == ()
    assert values_of(closed.settle(text, mark(text, to="Rome"))) == {"to": "Rome"}


def test_without_closed_slots_nothing_changes():
    slots = mark("to Rome", city="Rome")
    assert ClosedSlots({}).settle("to Rome", slots) == tuple(slots)


def test_words_without_values_give_nothing(closed):
    assert closed.settle("", ()) == ()
    assert closed.settle("let me see", ()) == ()


def test_values_are_loaded(tmp_path):
    path = tmp_path / "slot_values.json"
    path.write_text(json.dumps(CITIES))
    assert ClosedSlots.load(path).resolve("from", "oslo") == "Oslo"
    assert ClosedSlots.load(tmp_path / "none.json").settle("Rome", ()) == ()


@pytest.mark.parametrize("content", ["{", "[]", '{"size": 3}'])
def test_damaged_values_are_refused_by_name(tmp_path, content):
    path = tmp_path / "slot_values.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"slot_values\.json holds no values"):
        ClosedSlots.load(path)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "zero"),
        (16, "sixteen"),
        (20, "twenty"),
        (42, "forty two"),
        (120, "one hundred twenty"),
        (2005, "two thousand five"),
        (10_017, "one zero zero one seven"),
    ],
)
def test_numbers_are_said(number, said):
    assert say_number(number) == said


def test_words_know_where_they_stand():
    assert [(w.spoken, w.start, w.end) for w in spoken_words("Don't, 5%!")] == [
        ("don't", 0, 5),
        ("five", 7, 8),
        ("percent", 8, 9),
    ]
    assert spoken_form("") == ""


def test_digits_without_end_stay_as_they_are():
    assert spoken_form("9" * 5_000) == "9" * 5_000
