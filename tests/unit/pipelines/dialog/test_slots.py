"""Slots of a dialog: filled from any turn, out of order, corrected, denied and chosen."""

from __future__ import annotations

import time

import pytest

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import Listen
from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.value_list import ValueList
from pipelines.dialog.slot_answers import is_whole_answer
from tests.unit.pipelines.dialog.agents import Caller


@pytest.fixture
def caller() -> Caller:
    return Caller()


def test_all_slots_of_one_turn(caller: Caller):
    assert caller.say("a big medium roast latte please", "order") == "1 large medium roast latte?"
    assert caller.listen.confirming
    assert caller.slots == {"size": "large", "roast": "medium roast", "drink": "latte", "count": "1"}


def test_what_is_missing_is_asked_for_in_order(caller: Caller):
    assert caller.say("I want to order", "order") == "Which drink?"
    assert (caller.listen.slot, caller.listen.values) == ("drink", ("latte", "mocha", "iced mocha", "iced coffee"))
    assert caller.say("mocha") == "Which size?"
    assert caller.say("small") == "1 small mocha?"


def test_another_slot_than_the_one_asked_for(caller: Caller):
    caller.say("I want to order", "order")
    assert caller.say("a small one") == "Which drink?"
    assert caller.say("make it a latte") == "1 small latte?"


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("no, a large one", {"size": "large"}),
        ("no a large one", {"size": "large"}),
        ("make it two", {"count": "2"}),
        ("make that three large", {"count": "3", "size": "large"}),
        ("not a small but a large one", {"size": "large"}),
        ("large instead of small", {"size": "large"}),
        ("with a light roast", {"roast": "light roast"}),
        ("yes but a mocha", {"drink": "mocha"}),
    ],
)
def test_corrections_are_confirmed_again(caller: Caller, said: str, changed: dict[str, str]):
    caller.say("a small latte", "order")
    before = caller.slots
    caller.say(said)
    assert caller.listen.confirming
    assert caller.slots == before | changed


@pytest.mark.parametrize(
    "said", ["no light roast", "without light roast", "I don't want a light roast", "hold the light roast"]
)
def test_denied_optional_slot_is_emptied(caller: Caller, said: str):
    caller.say("a small light roast latte", "order")
    caller.say(said)
    assert "roast" not in caller.slots
    assert caller.listen.confirming


def test_value_that_was_misheard_is_that_of_the_engine(caller: Caller):
    caller.say("a latte", "order")
    misheard = ("roast", "medium-rose=medium roast")
    assert caller.say("a large medium-rose one", "none", misheard) == "1 large medium roast latte?"


def test_value_of_the_engine_that_no_list_has(caller: Caller):
    assert caller.say("a small latte", "order", ("roast", "a small=tiny")) == "1 small latte?"


@pytest.mark.parametrize(("said", "changed"), [("no large", {"size": "large"}), ("no dark mocha", {"drink": "mocha"})])
def test_no_before_another_value_corrects(caller: Caller, said: str, changed: dict[str, str]):
    caller.say("a small latte", "order")
    caller.say(said)
    assert caller.slots.items() >= changed.items()


@pytest.mark.parametrize(
    ("text", "day"), [("To-morrow, please.", "tomorrow"), ("Sunday", "Sunday"), ("May the fifth", "May the fifth")]
)
def test_a_value_is_said_as_in_the_middle_of_a_sentence(text: str, day: str):
    caller = Caller()
    caller.say("book a table", "book")
    caller.say("Ada")
    caller.say(text)
    caller.say("at noon")
    caller.say("Ada")
    assert caller.state.form is not None
    assert caller.state.form.slots["date"].said == day


def test_what_is_to_be_changed_is_no_other_wish():
    caller = Caller()
    caller.say("book a table tomorrow at noon", "book")
    assert caller.say("Ada") == "Tomorrow at noon, Ada?"
    caller.say("no")
    assert caller.say("the date please", "hours") == "Which day?"


def test_no_before_a_value_that_is_missing_adds_it_at_the_confirmation(caller: Caller):
    assert caller.say("a small latte no medium roast", "order") == "1 small latte?"
    assert caller.say("no medium roast") == "1 small medium roast latte?"
    assert caller.say("no medium roast") == "1 small latte?"


@pytest.mark.parametrize(
    ("text", "listen", "is_whole"),
    [
        ("Yes, please.", Listen(confirming=True), True),
        ("No.", Listen(confirming=True), True),
        ("Yes, but with", Listen(confirming=True), False),
        ("A large one, please.", Listen("size", ("small", "large")), True),
        ("large and", Listen("size", ("small", "large")), True),
        ("large or small", Listen("size", ("small", "large")), False),
        ("I would like", Listen("size", ("small", "large")), False),
        ("a large latte", Listen("size", ("small", "large")), False),
        ("Ada", Listen("name"), False),
    ],
)
def test_whole_answers(text: str, listen: Listen, is_whole: bool):
    assert is_whole_answer(text, listen) is is_whole


def test_denied_required_slot_is_asked_for(caller: Caller):
    caller.say("a small latte", "order")
    assert caller.say("no latte") == "Which drink?"
    assert caller.slots == {"size": "small", "count": "1"}


@pytest.mark.parametrize("said", ["the second one", "number two", "two please", "2"])
def test_choice_by_its_place(caller: Caller, said: str):
    caller.say("a latte", "order")
    assert caller.say(said) == "1 medium latte?"


def test_last_choice(caller: Caller):
    caller.say("a latte", "order")
    assert caller.say("the last one") == "1 large latte?"


def test_no_such_choice(caller: Caller):
    caller.say("a latte", "order")
    assert caller.say("number seven").startswith("Sorry? Which size?")


def test_part_of_one_value_is_that_value(caller: Caller):
    caller.say("order please", "order")
    assert caller.say("the coffee") == "Which size?"
    assert caller.slots["drink"] == "iced coffee"


def test_part_of_several_values_is_asked_about(caller: Caller):
    caller.say("order please", "order")
    assert caller.say("something iced") == "Do you mean iced mocha or iced coffee?"
    assert caller.listen.values == ("iced mocha", "iced coffee")
    assert caller.say("the first") == "Which size?"
    assert caller.slots["drink"] == "iced mocha"


def test_value_of_two_slots_goes_to_the_one_asked_for():
    form = {
        "name": "trains",
        "intents": {
            "travel": {
                "slots": {
                    "origin": {"type": "closed", "values": "city", "required": True, "prompt": "From?"},
                    "goal": {"type": "closed", "values": "city", "required": True, "prompt": "To?"},
                },
                "response": "{origin} to {goal}.",
            }
        },
    }
    agent = trains(form)
    caller = Caller(agent)
    assert caller.say("a ticket", "travel") == "From?"
    caller.say("Rome")
    assert caller.slots == {"origin": "Rome"}
    assert caller.say("Oslo") == "Rome to Oslo."
    caller = Caller(agent)
    caller.say("to Oslo please", "travel", ("goal", "Oslo"))
    assert caller.slots == {"goal": "Oslo"}, "the engine names it"


def trains(form: dict[str, object]) -> Agent:
    return Agent(AgentForm.model_validate(form), {"city": ValueList(("Rome", "Oslo"), {})})


def test_date_and_time_of_one_expression(caller: Caller):
    assert caller.say("book for tomorrow at five pm", "calendar_set") == "Which name?"
    assert caller.slots == {"date": "2026-01-06", "time": "17:00"}


def test_text_slot_takes_any_words(caller: Caller):
    caller.say("book for tomorrow at five pm", "book")
    assert caller.say("Ada Lovelace.") == "Tomorrow at five pm, Ada Lovelace?"
    assert caller.slots["name"] == "Ada Lovelace"


@pytest.mark.parametrize("said", ["no", "Yes.", "okay"])
def test_yes_and_no_are_no_text(caller: Caller, said: str):
    caller.say("book for tomorrow at five pm", "book")
    assert caller.say(said) == "Sorry? Which name?"


def test_a_list_of_two_thousand_values_costs_little():
    values = ValueList(tuple(f"street number {number}" for number in range(2_000)), {})
    form = {
        "name": "taxi",
        "intents": {
            "ride": {
                "slots": {"street": {"type": "closed", "required": True, "prompt": "Where?", "retries": 10}},
                "response": "To {street}.",
            }
        },
    }
    caller = Caller(Agent(AgentForm.model_validate(form), {"street": values}))
    caller.say("a taxi", "ride")
    caller.say("nowhere")
    began = time.process_time()
    for _ in range(5):
        caller.say("some words about it which are not on any list " * 5)
    assert time.process_time() - began < 0.5
    assert caller.say("street number 1999 please") == "To street number 1999."


def test_sensitive_values_are_marked_and_not_shown(caller: Caller):
    caller.say("book for tomorrow at five pm", "book")
    caller.say("Ada Lovelace")
    assert [action.sensitive for action in caller.actions[:-1]] == [True]
    assert "Ada" not in repr(caller.state.form)


def test_default_of_a_required_slot_after_its_retries(caller: Caller):
    assert caller.say("book for tomorrow", "book") == "What time?"
    assert caller.say("bananas") == "Which name?"
    assert caller.slots == {"date": "2026-01-06", "time": "12:00"}


def test_keys_answer(caller: Caller):
    caller.say("a latte", "order")
    assert caller(events.Dtmf(2.0, "2")) == "1 medium latte?"
    caller(events.Dtmf(3.0, "1#"))
    assert caller.fulfil.slots == {"drink": "latte", "size": "medium", "count": "1"}


@pytest.mark.parametrize("keys", ["7", "0", "#", "A", "1*"])
def test_keys_that_are_no_answer(caller: Caller, keys: str):
    caller.say("a latte", "order")
    assert caller(events.Dtmf(2.0, keys)) == "Sorry? Which size?"


def test_one_in_words_is_no_number_behind_an_article(caller: Caller):
    caller.say("two small lattes", "order")
    caller.say("a small latte", "order")
    caller.say("the large one")
    assert caller.slots["count"] in {"1", "2"}
    assert caller.slots["size"] == "large"


MUSEUM = {
    "name": "museum",
    "intents": {
        "hours": {
            "slots": {"day": {"type": "date"}, "size": {"type": "closed"}},
            "response": "Open[ on {day}][, {size}].",
            "opens": {"hours": {"turns": 2}},
            "follows": "hours",
        },
        "prices": {"response": "Eight euros."},
    },
}


@pytest.mark.parametrize(("intent", "said"), [("none", "Open on Friday, small."), ("hours", "Open on Friday, small.")])
def test_values_are_carried_over_also_where_the_engine_finds_the_intent_again(intent: str, said: str):
    caller = Caller(Agent(AgentForm.model_validate(MUSEUM), {"size": ValueList(("small", "large"), {})}))
    assert caller.say("when is the small one open", "hours") == "Open, small."
    assert caller.say("and on Friday", intent) == said
    assert caller.say("when is it open on Monday", "hours") == "Open on Monday.", "a whole question stands alone"
    assert caller.say("and what does it cost", "prices") == "Eight euros."
    caller.say("when is it open on Monday", "hours")
    assert caller.say("no, Friday", "prices") == "Open on Friday.", "a value alone asks for nothing else"
