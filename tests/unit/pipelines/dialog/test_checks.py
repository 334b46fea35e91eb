"""Checks by fulfilments while a form is filled: refusals, offers, and checks that misbehave."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import End, Fulfil
from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.value_list import ValueList
from pipelines.dialog.by_example import ExampleUnderstanding
from pipelines.dialog.session import DialogSession
from tests.unit.pipelines.dialog.agents import NOW, Caller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FORM: dict[str, Any] = {
    "name": "barber",
    "fulfilments": {
        "is_free": {"webhook": {"url": "http://127.0.0.1:1"}},
        "book": {"webhook": {"url": "http://127.0.0.1:1"}},
    },
    "failed": "Sorry, that did not work.",
    "no_match": {"times": 2, "then": "hand_over"},
    "intents": {
        "book": {
            "slots": {
                "time": {"type": "time", "required": True, "prompt": "At what time?"},
                "barber": {"type": "closed", "required": True, "prompt": "With whom?"},
                "name": {"type": "person", "required": True, "prompt": "Your name?"},
            },
            "check": {"is_free": ["time", "barber"]},
            "confirm": "{time} with {barber}?",
            "fulfilment": "book",
            "response": "Booked.",
        }
    },
}


@pytest.fixture
def caller() -> Caller:
    """Returns a caller whose values are being checked."""
    values = {"barber": ValueList(("Tom", "Ann"), {})}
    caller = Caller(Agent(AgentForm.model_validate(FORM), values, {"book": ("a haircut",)}))
    assert caller.say("a haircut", "book") == "At what time?"
    assert caller.say("at nine") == "With whom?"
    caller.say("with Tom")
    assert (caller.fulfil.name, caller.fulfil.is_check) == ("is_free", True)
    assert dict(caller.fulfil.slots) == {"time": "09:00", "barber": "Tom"}
    return caller


def refuse(caller: Caller, say: str = "Nine is taken.", slot: str = "time", *offers: str) -> str:
    return caller(events.FulfilmentFailed(caller.now, caller.fulfil.number, say, slot, offers))


def test_what_passes_goes_on(caller: Caller):
    number = caller.fulfil.number
    assert caller(events.Fulfilled(caller.now, number, say="That is free.")) == "That is free. Your name?"
    assert caller(events.Fulfilled(caller.now, number)) == ""
    assert caller.say("Ada Lovelace") == "Nine with Tom?"
    caller.say("yes")
    assert (caller.fulfil.name, caller.fulfil.is_check) == ("book", False)


@pytest.mark.parametrize(
    ("answer", "time"),
    [
        ("ten", "10:00"),
        ("ten then please", "10:00"),
        ("the second one", "11:00"),
        ("eleven o'clock", "11:00"),
        ("the first", "10:00"),
        ("half past twelve", "12:30"),
    ],
)
def test_offers_are_taken_and_checked(caller: Caller, answer: str, time: str):
    said = "Nine is taken, ten or eleven?"
    assert refuse(caller, said, "time", "10:00", "11:00") == said
    assert caller.listen.values == ("10:00", "11:00")
    caller.say(answer)
    assert caller.fulfil.is_check
    assert caller.fulfil.slots["time"] == time


def test_offers_without_a_question_are_asked_for(caller: Caller):
    assert refuse(caller, "Nine is taken.", "time", "10:00") == "Nine is taken. Would 10:00 do?"
    caller.say("yes please")
    assert caller.fulfil.slots["time"] == "10:00"


def test_no_to_offers_asks_openly(caller: Caller):
    refuse(caller, "Taken.", "time", "10:00", "11:00")
    assert "At what time?" in caller.say("no")
    assert caller.listen.values == ()


def test_same_values_are_checked_once(caller: Caller):
    caller(events.Fulfilled(caller.now, caller.fulfil.number))
    caller.say("Ada Lovelace")
    assert caller.listen.confirming
    assert caller.say("no, nine o'clock") == "Nine o'clock with Tom?"
    caller.say("no, with Ann")
    assert caller.fulfil.is_check


@pytest.mark.parametrize(
    ("slot", "offers", "listed"),
    [
        ("barber", ("Bob", "ann", "Ann", "\x00"), ("Ann",)),
        ("time", ("nine", "25:00", "", "9", "<b>", "10:00"), ("10:00",)),
        ("time", (), ()),
        ("barber", ("Nobody",), ("Tom", "Ann")),
    ],
)
def test_nonsense_is_not_offered(caller: Caller, slot: str, offers: tuple[str, ...], listed: tuple[str, ...]):
    refuse(caller, "Sorry.", slot, *offers)
    assert caller.listen.slot == slot
    assert caller.listen.values == listed


@pytest.mark.parametrize("slot", ["", "name", "nothing"])
def test_a_check_that_fails_ends_the_intent(caller: Caller, slot: str):
    assert refuse(caller, "", slot) == "Sorry, that did not work."
    assert caller.state.form is None
    assert not caller.state.has_acted


def test_a_check_that_refuses_everything_comes_to_an_end(caller: Caller):
    checks = 1
    while not caller.state.ended:
        refuse(caller, "Taken.")
        if not caller.state.ended:
            caller.say(f"at {checks}")
            checks += 1
        assert checks < 20
    assert isinstance(caller.actions[-1], End)
    assert checks == 6


def test_callers_wait_and_may_cancel_while_it_is_checked(caller: Caller):
    number = caller.fulfil.number
    assert caller.say("hello?") == "One moment, please."
    assert caller.say("cancel") == "All right, never mind."
    assert not any(isinstance(action, Fulfil) for action in caller.actions)
    assert caller(events.Fulfilled(caller.now, number)) == ""
    assert caller.say("cancel") == "All right, never mind."


def test_a_check_that_was_cut_off_is_asked_again(caller: Caller):
    number = caller.fulfil.number
    caller(events.Resumed(caller.now))
    assert (caller.fulfil.number, caller.fulfil.name) == (number, "is_free")


def test_callers_who_say_nothing_but_no(caller: Caller):
    refuse(caller, "Taken.", "time", "10:00")
    for _ in range(6):
        if not caller.state.ended:
            caller.say("no")
    assert caller.state.ended == "hand_over"
    assert not caller.state.has_acted


class Diary:
    """Refuses every time, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[events.FulfilmentFailed]:
        self.asked += 1
        yield events.FulfilmentFailed(0.0, task.number, "Taken.", "time", ("10:00",))


async def test_a_check_that_changes_nothing_is_part_of_the_reply_and_asked_once():
    safe = {"webhook": {"url": "http://127.0.0.1:1", "safe": True}}
    form = AgentForm.model_validate(FORM | {"fulfilments": FORM["fulfilments"] | {"is_free": safe}})
    agent = Agent(form, {"barber": ValueList(("Tom", "Ann"), {})}, {"book": ("a haircut",)})
    diary = Diary()
    session = DialogSession(agent, fulfillers={"is_free": diary, "book": diary})
    session.begin()
    understood = ExampleUnderstanding(agent)("a haircut with Tom at nine", NOW)
    turn = session.preview("a haircut with Tom at nine", dataclasses.replace(understood, intent="book", confidence=1.0))
    await session.run_ahead(turn, 1.0)
    turn = session.commit(session.again(turn))
    assert turn.text == "Taken. Would 10:00 do?"
    assert (diary.asked, turn.fulfilled, turn.begun) == (1, (), ())
