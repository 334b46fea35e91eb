"""Lists of items: told, changed, removed, completed and worded."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from pipelines.data.understanding import NO_INTENT
from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.value_list import ValueList
from tests.unit.pipelines.dialog.agents import Caller

CAFE: dict[str, Any] = {
    "name": "cafe",
    "intents": {
        "order": {
            "slots": {
                "drinks": {
                    "type": "items",
                    "required": True,
                    "prompt": "What would you like?",
                    "more": ["Anything else?", "What else?"],
                    "say": "{count:words} {size} {drink:count}[ with {milk}][ with {sugar}]",
                    "slots": {
                        "drink": {"type": "closed", "required": True, "prompt": "Which drink?"},
                        "size": {"type": "closed", "required": True, "prompt": "Which size for the {drink}?"},
                        "milk": {"type": "closed"},
                        "sugar": {"type": "closed"},
                        "count": {"type": "number", "default": "1"},
                    },
                },
                "pickup": {"type": "time", "required": True, "prompt": "For when?"},
            },
            "confirm": "{drinks}, for {pickup}. Is that right?",
            "fulfilment": "order",
            "response": "Thank you for {drinks}.",
        },
        "hours": {"response": "At seven."},
    },
}
VALUES = {
    "drink": ValueList(
        ("latte", "mocha", "cappuccino", "iced mocha"),
        {"lattes": "latte", "mochas": "mocha", "cappuccinos": "cappuccino"},
    ),
    "size": ValueList(("small", "medium", "large"), {"big": "large"}),
    "milk": ValueList(("milk", "soy milk"), {}),
    "sugar": ValueList(("sugar", "brown sugar"), {}),
}


def cafe() -> Agent:
    return Agent(AgentForm.model_validate(CAFE), VALUES, {"order": ("I want a drink",)})


def listed(caller: Caller) -> list[str]:
    """Returns the items in short: count, size, drink and what is with it."""
    form = caller.state.form
    assert form is not None
    items = json.loads(form.slots["drinks"].value) if "drinks" in form.slots else []
    order = ("count", "size", "drink", "milk", "sugar")
    return [" ".join(one[name] for name in order if name in one) for one in items]


@pytest.mark.parametrize(
    ("turns", "items"),
    [
        (["two small lattes and a large mocha"], ["2 small latte", "1 large mocha"]),
        (["a small latte, a large mocha and three medium cappuccinos"],
         ["1 small latte", "1 large mocha", "3 medium cappuccino"]),
        (["two small lattes a large mocha"], ["2 small latte", "1 large mocha"]),
        (["a small latte with milk and sugar and a large mocha"], ["1 small latte milk sugar", "1 large mocha"]),
        (["a small and a large latte"], ["1 small latte", "1 large latte"]),
        (["two small and one large latte"], ["2 small latte", "1 large latte"]),
        (["three lattes, two small and one large"], ["2 small latte", "1 large latte"]),
        (["two small lattes, one with soy milk"], ["1 small latte", "1 small latte soy milk"]),
        (["a small iced mocha and a small mocha"], ["1 small iced mocha", "1 small mocha"]),
        (["two small lattes with sugar and a large mocha with sugar, the second without sugar"],
         ["2 small latte sugar", "1 large mocha"]),
        (["two small lattes with sugar", "the second without sugar"], ["1 small latte sugar", "1 small latte"]),
        (["a small latte and a large mocha", "remove the mocha"], ["1 small latte"]),
        (["a small latte and a large mocha", "no mocha please"], ["1 small latte"]),
        (["a small latte and a large mocha", "cancel the latte"], ["1 large mocha"]),
        (["a small latte and a large mocha", "take the latte off"], ["1 large mocha"]),
        (["a small latte and a large mocha", "make the latte three"], ["3 small latte", "1 large mocha"]),
        (["a small latte and a large mocha", "make the latte large"], ["1 large latte", "1 large mocha"]),
        (["a small latte and a large mocha", "the first one with soy milk"],
         ["1 small latte soy milk", "1 large mocha"]),
        (["a small latte and a large mocha", "another small latte"], ["2 small latte", "1 large mocha"]),
        (["a small latte and a large mocha", "and a large cappuccino"],
         ["1 small latte", "1 large mocha", "1 large cappuccino"]),
        (["a small latte and a large mocha", "change the mocha to a cappuccino"],
         ["1 small latte", "1 large cappuccino"]),
        (["a small latte and a large mocha", "a cappuccino instead of the mocha"],
         ["1 small latte", "1 large cappuccino"]),
        (["a small latte and a large mocha", "not a mocha, a cappuccino"], ["1 small latte", "1 large cappuccino"]),
        (["a small latte", "another one"], ["2 small latte"]),
        (["a small latte", "another one but large"], ["1 small latte", "1 large latte"]),
        (["a small latte", "no, a cappuccino"], ["1 small cappuccino"]),
        (["a small latte", "make it two"], ["2 small latte"]),
        (["a small latte and a large mocha", "both with milk"], ["1 small latte milk", "1 large mocha milk"]),
        (["a small latte and a large mocha", "all of them small"], ["1 small latte", "1 small mocha"]),
        (["a latte and a mocha", "both small"], ["1 small latte", "1 small mocha"]),
        (["a latte and a mocha", "small", "large"], ["1 small latte", "1 large mocha"]),
        (["a latte and a mocha", "the latte small and the mocha large"], ["1 small latte", "1 large mocha"]),
        (["a latte and a mocha", "a large latte"], ["1 large latte", "mocha"]),
        (["a latte", "small, and a large mocha"], ["1 small latte", "1 large mocha"]),
        (["a large latte and a small mocha", "one of the lattes small"], ["1 small latte", "1 small mocha"]),
        (["three large lattes", "one of the lattes small"], ["2 large latte", "1 small latte"]),
    ],
)  # fmt: skip
def test_items_of_turns(turns: list[str], items: list[str]):
    caller = Caller(cafe())
    for number, text in enumerate(turns):
        caller.say(text, "order" if number == 0 else NO_INTENT)
    assert listed(caller) == items


def test_missing_parts_are_asked_for_by_item_and_all_is_worded():
    caller = Caller(cafe())
    assert caller.say("I want to order", "order") == "What would you like?"
    assert caller.say("two lattes and a small mocha", "order") == "Which size for the latte?"
    assert caller.listen.values == ("small", "medium", "large")
    assert caller.say("large") == "Anything else?"
    assert caller.say("a cappuccino") == "Which size for the cappuccino?"
    assert caller.say("medium") == "Anything else?"
    assert caller.say("remove the cappuccino") == "Anything else?"
    assert caller.say("that's all") == "For when?"
    told = "two large lattes and one small mocha"
    assert caller.say("at nine") == "Two large lattes and one small mocha, for nine. Is that right?"
    assert caller.say("what did I say so far?").startswith(f"So far I have: {told}, nine.")
    assert caller.say("make the mocha two").startswith("Two large lattes and two small mochas")
    caller.say("yes")
    assert json.loads(caller.fulfil.slots["drinks"]) == [
        {"count": "2", "size": "large", "drink": "latte"},
        {"count": "2", "size": "small", "drink": "mocha"},
    ]
    assert caller.fulfil.slots.keys() == {"drinks", "pickup"}


@pytest.mark.parametrize("done", ["no", "no thanks", "that's all", "nothing else", "no, that's it", "nope, that's all"])
def test_no_further_items(done: str):
    caller = Caller(cafe())
    caller.say("a small latte", "order")
    assert caller.say(done) == "For when?"
    assert listed(caller) == ["1 small latte"]


@pytest.mark.parametrize("text", ["a small latte, that's all", "a small latte and that's it"])
def test_items_and_the_end_of_the_list_in_one_turn(text: str):
    caller = Caller(cafe())
    assert caller.say(text, "order") == "For when?"


def test_an_order_with_everything_removed_is_asked_for_anew():
    caller = Caller(cafe())
    caller.say("a small latte", "order")
    assert caller.say("remove the latte") == "What would you like?"


def test_confirmed_items_may_be_said_again():
    caller = Caller(cafe())
    caller.say("two small lattes for nine o'clock, that's all", "order")
    assert caller.listen.confirming
    caller.say("yes, two small lattes")
    assert caller.fulfil.name == "order"


def test_callers_who_cannot_stop_and_long_lists_cost_little():
    caller = Caller(cafe())
    caller.say("a small latte", "order")
    text = " and ".join(["a large mocha with milk"] * 60)
    began = time.process_time()
    caller.say(text)
    assert time.process_time() - began < 1.0
    form = caller.state.form
    assert form is not None
    assert len(form.items) <= 20
