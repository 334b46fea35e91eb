"""Slots that are dictated, that take several values, and that refuse some."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.allowed import faults_of
from pipelines.dialog.agent.form import AgentForm, Slot
from pipelines.dialog.agent.value_list import ValueList
from tests.unit.pipelines.dialog.agents import Caller


def required(kind: str, prompt: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "required": True, "prompt": prompt, **more}


FORM: dict[str, Any] = {
    "name": "forms",
    "intents": {
        "visit": {
            "slots": {
                "day": required("date", "Which day?", allow={"not_on": "sunday", "refused": "Closed on Sundays."}),
                "at": required(
                    "time", "When?", prefer="pm", allow={"between": ["09:00", "18:00"], "refused": "9 to 6."}
                ),
                "name": required("person", "Your name?"),
                "phone": required("phone", "Your number?"),
            },
            "confirm": "On {day} at {at}, {name}, {phone}?",
            "response": "Noted.",
        },
        "pizza": {
            "slots": {
                "topping": required("closed", "Which toppings?", several=True),
                "count": required("number", "How many?", allow={"between": ["1", "12"], "refused": "Twelve at most."}),
                "street": required("text", "Where to?"),
            },
            "confirm": "{count} with {topping} to {street}?",
            "response": "Baked.",
        },
        "born": {
            "slots": {"day": required("date", "When?", future=True), "code": required("digits", "Code?")},
            "confirm": "{day}, {code}?",
            "response": "Noted.",
        },
    },
}
AGENT = Agent(AgentForm.model_validate(FORM), {"topping": ValueList(("ham", "mushrooms", "olives", "onions"), {})}, {})


def after(intent: str, *said: str) -> tuple[dict[str, str], str]:
    """Returns the slots after what a caller says, the first with the intent, and what the agent says last."""
    caller = Caller(AGENT)
    caller.say("hello", intent)
    for text in said:
        caller.say(text)
    return caller.slots, caller.said


@pytest.mark.parametrize(
    ("intent", "said", "slots"),
    [
        ("visit", ["next Sunday", "Monday", "at four"], {"day": "2026-01-12", "at": "16:00"}),
        ("visit", ["Monday", "at ten"], {"day": "2026-01-12", "at": "10:00"}),
        ("visit", ["Monday", "ten", "weber, anna weber"], {"day": "2026-01-12", "at": "10:00", "name": "Anna Weber"}),
        (
            "visit",
            ["Tuesday", "nine thirty", "this is Jo Park and the number is 0171 555 0100"],
            {"day": "2026-01-06", "at": "09:30", "name": "Jo Park", "phone": "01715550100"},
        ),
        ("pizza", ["ham and mushrooms"], {"topping": "ham, mushrooms"}),
        ("pizza", ["ham and mushrooms", "with olives too"], {"topping": "ham, mushrooms, olives"}),
        ("pizza", ["ham and mushrooms", "no mushrooms"], {"topping": "ham"}),
        ("pizza", ["ham", "two", "31 Elm Court"], {"topping": "ham", "count": "2", "street": "31 Elm Court"}),
        ("pizza", ["ham", "two", "it's 31 Elm Court"], {"topping": "ham", "count": "2", "street": "31 Elm Court"}),
        ("pizza", ["ham", "forty"], {"topping": "ham"}),
        ("born", ["yesterday"], {}),
        ("born", ["tomorrow", "oh, which code"], {"day": "2026-01-06"}),
        ("born", ["tomorrow", "forty seven eighteen"], {"day": "2026-01-06", "code": "4718"}),
    ],
)
def test_slots(intent: str, said: list[str], slots: dict[str, str]):
    assert after(intent, *said)[0] == slots


@pytest.mark.parametrize(
    ("intent", "said", "told"),
    [
        ("visit", ["next Sunday"], "Closed on Sundays. Which day?"),
        ("visit", ["Monday", "at eight pm"], "9 to 6. When?"),
        ("pizza", ["ham", "forty"], "Twelve at most. How many?"),
        (
            "visit",
            ["tomorrow", "at three", "Jo Park", "0171 555 0100"],
            "Tomorrow at three, Jo Park, 0 1 7 1 5 5 5 0 1 0 0?",
        ),
        ("pizza", ["ham and mushrooms", "two", "Elm Court"], "Two with ham and mushrooms to Elm Court?"),
    ],
)
def test_what_is_said(intent: str, said: list[str], told: str):
    assert after(intent, *said)[1] == told


def test_a_date_in_the_past_is_refused_in_words():
    caller = Caller(AGENT)
    caller.say("hello", "born")
    assert caller.say("yesterday", today="2026-01-05") == "That day is over. When?"


@pytest.mark.parametrize(
    ("slot", "fault"),
    [
        ({"type": "text", "several": True}, "several"),
        ({"type": "time", "future": True}, "future"),
        ({"type": "date", "prefer": "pm"}, "prefer"),
        ({"type": "number", "allow": {"not_on": "sunday"}}, "`not_on` belongs to dates"),
        ({"type": "number", "allow": {"pattern": "1+"}}, "`pattern` belongs to"),
        ({"type": "text", "allow": {"pattern": "("}}, "no regular expression"),
        ({"type": "closed", "allow": {"between": ["1", "2"]}}, "`between` belongs to"),
        ({"type": "time", "allow": {"between": ["9", "18:00"]}}, "'9' is not a time"),
        ({"type": "number", "allow": {"between": ["one", "2"]}}, "'one' is not a number"),
        ({"type": "number", "allow": {"between": ["10", "9"]}}, "every value is refused"),
        ({"type": "number", "allow": {"between": ["9", "10"]}}, ""),
        ({"type": "date", "allow": {"between": ["2026-01-01", "2026-13-01"]}}, "'2026-13-01' is not a date"),
    ],
)
def test_rules_that_cannot_be(slot: dict[str, Any], fault: str):
    found = " ".join(f"{key} {text}" for key, text in faults_of(Slot.model_validate(slot)))
    assert fault in found
    assert bool(found) == bool(fault)
