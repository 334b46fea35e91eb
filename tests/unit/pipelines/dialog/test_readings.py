"""Readings of a turn that a program may get wrong: codes, alternatives, numbers alone, and two slots of one kind."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import Say
from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.value_list import ValueList
from tests.unit.pipelines.dialog.agents import Caller


def required(kind: str, prompt: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "required": True, "prompt": prompt, **more}


FORM: dict[str, Any] = {
    "name": "forms",
    "no_match": {"say": "Sorry?", "times": 9},
    "intents": {
        "code": {"slots": {"pin": required("number", "Your PIN?")}, "confirm": "{pin}?", "response": "In."},
        "wake": {"slots": {"at": required("time", "When?")}, "confirm": "At {at}?", "response": "Set."},
        "pay": {"slots": {"sum": required("money", "How much?")}, "confirm": "{sum}?", "response": "Paid."},
        "visit": {"slots": {"day": required("date", "Which day?")}, "confirm": "{day}?", "response": "Noted."},
        "ride": {
            "slots": {
                "origin": required("closed", "Where from?", values="city"),
                "goal": required("closed", "And where do you go?", values="city"),
            },
            "confirm": "From {origin} to {goal}?",
            "response": "Booked.",
        },
        "hire": {
            "slots": {"first": required("date", "From which day?"), "last": required("date", "Until which day?")},
            "confirm": "From {first} until {last}?",
            "response": "Hired.",
        },
        "stay": {
            "slots": {
                "adults": required("number", "How many adults?"),
                "children": required("number", "And children?"),
            },
            "confirm": "{adults}, {children}?",
            "response": "Welcome.",
        },
        "table": {
            "slots": {"people": required("number", "How many?"), "day": required("date", "Which day?")},
            "confirm": "{people}, {day}?",
            "response": "Reserved.",
        },
        "meet": {
            "slots": {"day": required("date", "Which day?"), "time": required("time", "When?")},
            "confirm": "{day} at {time}?",
            "response": "Noted.",
        },
        "join": {
            "slots": {"name": required("text", "Your name?"), "day": required("date", "Which day?")},
            "confirm": "{name}, {day}?",
            "response": "Joined.",
        },
        "soup": {
            "slots": {"bowl": required("closed", "Which bowl?"), "side": {"type": "closed", "default": "bread"}},
            "confirm": "{bowl} with {side}?",
            "response": "Served.",
        },
    },
}
LISTS = {
    "city": ValueList(("Rome", "Oslo", "Bern"), {}),
    "bowl": ValueList(("small", "large"), {}),
    "side": ValueList(("bread", "rice"), {}),
}


def slots_after(intent: str, *texts: str) -> dict[str, str]:
    caller = Caller(Agent(AgentForm.model_validate(FORM), LISTS))
    caller.say(texts[0], intent)
    for text in texts[1:]:
        caller.say(text)
    return caller.slots


@pytest.mark.parametrize(
    ("intent", "said", "slots"),
    [
        # Codes, digit by digit and in pairs.
        ("code", "four seven one one", {"pin": "4711"}),
        ("code", "One, nine, oh, seven.", {"pin": "1907"}),
        ("code", "it's 4 7 1 1", {"pin": "4711"}),
        ("code", "zero zero four two please", {"pin": "0042"}),
        ("code", "0042", {"pin": "0042"}),
        ("code", "double four one one", {"pin": "4411"}),
        ("code", "one one one", {"pin": "111"}),
        ("code", "forty seven eleven", {"pin": "4711"}),
        ("code", "one two three four, no, one two three five", {"pin": "1235"}),
        ("code", "twenty five", {"pin": "25"}),
        ("code", "one", {"pin": "1"}),
        ("code", "one of those", {}),
        # Alternatives are asked about.
        ("code", "four or five", {}),
        ("code", "four, no, five", {"pin": "5"}),
        ("visit", "on Monday or Tuesday", {}),
        ("visit", "Monday, sorry, Tuesday", {"day": "2026-01-06"}),
        ("visit", "not Monday, Tuesday", {"day": "2026-01-06"}),
        ("visit", "Monday doesn't work but Tuesday", {"day": "2026-01-06"}),
        ("visit", "neither Monday nor Tuesday", {}),
        ("wake", "at four or five", {}),
        ("pay", "ten or twenty dollars", {}),
        # A number alone is the answer to the question.
        ("wake", "seven", {"at": "07:00"}),
        ("wake", "Seven please.", {"at": "07:00"}),
        ("wake", "half-past seven", {"at": "07:30"}),
        ("wake", "ten-fifteen", {"at": "10:15"}),
        ("wake", "seven of them", {}),
        ("wake", "thirty", {}),
        ("pay", "fifty", {"sum": "50"}),
        ("pay", "fifty sheep", {}),
        ("visit", "the 24th", {"day": "2026-01-24"}),
        ("visit", "the second", {"day": "2026-02-02"}),
        ("visit", "Tuesday morning", {"day": "2026-01-06"}),
        # Days and strokes.
        ("visit", "12/24", {"day": "2026-12-24"}),
        ("visit", "on 2/14 please", {"day": "2026-02-14"}),
        ("code", "12/24", {}),
        ("code", "24/7", {}),
        ("visit", "the 31st of February", {}),
        ("visit", "June 31", {}),
        ("visit", "Friday the 30th of February", {}),
        ("code", "the 31st of February", {}),
        # Texts.
        ("join", "my name is Ada King", {"name": "Ada King"}),
        ("join", "I'm Ada", {"name": "Ada"}),
        ("join", "Ada King, K I N G", {"name": "Ada King"}),
        ("join", "Ada B C", {"name": "Ada B C"}),
        ("join", "sorry, I mean Tuesday", {"day": "2026-01-06"}),
        ("join", "hold on", {}),
    ],
)
def test_an_answer(intent: str, said: str, slots: dict[str, str]):
    assert slots_after(intent, "hello", said) == slots


@pytest.mark.parametrize(
    ("intent", "said", "slots"),
    [
        ("ride", "from Rome to Oslo", {"origin": "Rome", "goal": "Oslo"}),
        ("ride", "to Oslo from Rome", {"origin": "Rome", "goal": "Oslo"}),
        ("ride", "to Oslo please", {"goal": "Oslo"}),
        ("ride", "Rome Oslo", {"origin": "Rome", "goal": "Oslo"}),
        ("ride", "from Rome, no, from Bern to Oslo", {"origin": "Bern", "goal": "Oslo"}),
        ("ride", "from Rome or Bern to Oslo", {"goal": "Oslo"}),
        ("hire", "from Tuesday to Friday", {"first": "2026-01-06", "last": "2026-01-09"}),
        ("hire", "until Friday", {"last": "2026-01-09"}),
        ("stay", "two adults and three children", {"adults": "2", "children": "3"}),
        ("stay", "three children and two adults", {"adults": "2", "children": "3"}),
        ("table", "a table for two tomorrow", {"people": "2", "day": "2026-01-06"}),
        ("table", "half a dozen on Friday", {"people": "6", "day": "2026-01-09"}),
        ("wake", "wake me for seven please", {"at": "07:00"}),
        ("wake", "wake all seven of them", {}),
        ("soup", "anything but a large one", {"side": "bread"}),
        ("soup", "a small one, not with rice", {"bowl": "small", "side": "bread"}),
    ],
)
def test_a_wish_with_details(intent: str, said: str, slots: dict[str, str]):
    assert slots_after(intent, said) == slots


@pytest.mark.parametrize(
    ("intent", "texts", "answer"),
    [
        ("code", ("hello", "four or five", "five"), "Five?"),
        ("code", ("hello", "four or five", "both"), "Sorry? Do you mean four or five?"),
        ("visit", ("hello", "on Monday or Tuesday", "Tuesday"), "Tuesday?"),
        ("ride", ("from Rome or Bern to Oslo", "Bern"), "From Bern to Oslo?"),
        ("ride", ("from Rome to Oslo", "no, to Bern"), "From Rome to Bern?"),
        ("meet", ("Friday at ten",), "Friday at ten?"),
        ("meet", ("Friday at ten", "yes but make it eleven"), "Friday at eleven?"),
        ("meet", ("Friday at ten", "not on Friday"), "Which day?"),
        ("meet", ("Friday at ten", "not on Monday"), "What shall I change?"),
        ("meet", ("Friday at ten", "the day is wrong"), "Which day?"),
        ("soup", ("a small one", "not with bread"), "What shall I change?"),
    ],
)
def test_what_is_asked_then(intent: str, texts: tuple[str, ...], answer: str):
    caller = Caller(Agent(AgentForm.model_validate(FORM), LISTS))
    caller.say(texts[0], intent)
    for text in texts[1:]:
        caller.say(text)
    assert caller.said == answer


def test_keys_of_a_code_keep_their_zeros():
    caller = Caller(Agent(AgentForm.model_validate(FORM), LISTS))
    caller.say("hello", "code")
    assert caller(events.Dtmf(2.0, "0042#")) == "0042?"


def test_a_question_which_of_several_codes_is_sensitive():
    form = {**FORM, "intents": {"code": {**FORM["intents"]["code"]}}}
    form["intents"]["code"]["slots"] = {"pin": required("number", "Your PIN?", sensitive=True)}
    caller = Caller(Agent(AgentForm.model_validate(form), {}))
    caller.say("hello", "code")
    assert caller.say("one two three four or one two three five") == "Do you mean 1234 or 1235?"
    assert caller.actions[0] == Say("Do you mean 1234 or 1235?", sensitive=True)
