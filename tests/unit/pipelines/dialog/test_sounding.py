"""Answers that sound like a value."""

from __future__ import annotations

import pytest

from pipelines.dialog.agent.value_list import ValueList
from pipelines.dialog.sound_alikes import sounding_like
from tests.unit.pipelines.dialog.agents import Caller

DRINKS = ValueList(
    ("americano", "cappuccino", "espresso", "iced mocha", "latte", "iced coffee"), {"flat white": "latte"}
)


@pytest.mark.parametrize(
    ("heard", "confirmed", "values"),
    [
        ("I smoke a.", True, ("iced mocha",)),
        ("I smoke a.", False, ()),
        ("lotty", False, ("latte",)),
        ("A merry car, no?", False, ("americano",)),
        ("flat wide", False, ("latte",)),
        ("ice moker", True, ("iced mocha", "iced coffee")),
        ("pears", True, ()),
        ("bananas", True, ()),
        ("what time is it", True, ()),
        ("I would like to have a latte macchiato", True, ()),
        ("", True, ()),
        ("la", True, ()),
    ],
)
def test_what_may_have_been_said(heard: str, confirmed: bool, values: tuple[str, ...]):
    assert sounding_like(heard, DRINKS, is_confirmed=confirmed) == values


def test_an_answer_in_a_dialog():
    caller = Caller()
    caller.say("I want to order", "order")
    assert caller.say("lotty") == "Which size?"
    assert caller.slots["drink"] == "latte"


def test_a_wish_is_no_answer():
    caller = Caller()
    caller.say("I want to order", "order")
    assert caller.say("lotty", "hours").startswith("At nine.")
