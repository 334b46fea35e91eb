"""Several wishes of a turn, denied ones, and those for another time: the demonstration's voice for a house."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import demo
from pipelines.data.dialog import events
from pipelines.data.dialog.actions import Fulfil
from pipelines.data.understanding import Reading, Understanding
from pipelines.dialog.agent.folder import read_agent
from pipelines.dialog.by_example import ExampleUnderstanding
from pipelines.dialog.wishes import target_of
from pipelines.text.values import find_values
from tests.unit.pipelines.dialog.agents import NOW, Caller, agent_of

HOUSE = read_agent(Path(demo.__file__).parent / "agents/home")
UNDERSTAND = ExampleUnderstanding(HOUSE)
NOT_NOW = "I can only do that at once, not at another time."
LOST = "I did not understand that."


def carried_out(*texts: str) -> tuple[list[str], list[str]]:
    """Says some turns; returns what was carried out, and what the agent said to each."""
    caller, done, said = Caller(HOUSE), list[str](), list[str]()
    for text in texts:
        caller.now += 1
        answers = [caller(events.Understood(caller.now, text, UNDERSTAND(text, NOW)))]
        while caller.actions and isinstance(task := caller.actions[-1], Fulfil):
            done.append(" ".join((task.name, *task.slots.values())))
            answers.append(caller(events.Fulfilled(caller.now, task.number)))
        said.append(" ".join(filter(None, answers)))
    return done, said


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ("turn on the light in the hall but not in the office", ["light_on hall"]),
        ("turn off the light not in the hall but in the office", ["light_off office"]),
        ("turn on the light in the hall, not the office", ["light_on hall"]),
        ("turn on the light in the hall, no, in the office", ["light_on office"]),
        ("turn on the light in the hall, I mean the office", ["light_on office"]),
        ("turn off the light in the hall and turn on the light in the office", ["light_off hall", "light_on office"]),
        (
            "turn off the light in the hall, lock the back door and close the blinds in the study",
            ["light_off hall", "lock back door", "close_blinds office"],
        ),
        ("turn on the light in the hall but don't turn on the light in the office", ["light_on hall"]),
        ("don't turn on the light in the hall but turn on the light in the office", ["light_on office"]),
        ("turn on the light in the hall, no, turn on the light in the office", ["light_on office"]),
        ("no, turn on the light in the hall", ["light_on hall"]),
        ("turn on the light in the hall now", ["light_on hall"]),
        ("don't forget to turn on the light in the hall", ["light_on hall"]),
        ("don't turn on the light in the hall", []),
        ("please do not lock the front door", []),
        ("I don't want you to turn on the light in the hall", []),
        ("turn on the light in the hall, never mind", []),
        ("turn on all lights except in the hall", []),
        ("turn off all the lights but not in the hall", []),
        ("close the blinds but not in the hall", []),
        ("close all blinds except in the hall", []),
        ("turn the hall light on and the office light off", ["light_on hall", "light_off office"]),
        ("turn on the light in the hall and in the office", []),
        ("turn on the light in the hall in ten minutes", []),
        ("turn off the light in the hall at nine", []),
        ("turn off the light in the hall tomorrow", []),
        ("turn off the light in the hall later", []),
        ("turn off the light in the hall when I leave", []),
        ("turn on the light in the hall for ten minutes please", []),
        ("unlock the front door in an hour", []),
        ("turn on the light in the hall ten minutes from now", []),
        ("turn on the light in the hall at sunset", []),
        ("did you turn on the light in the hall", []),
        ("turn off all the lights but the hall", []),
    ],
)
def test_what_is_carried_out(said: str, done: list[str]):
    assert carried_out(said)[0] == done


@pytest.mark.parametrize(
    ("texts", "done", "answer"),
    [
        (["don't turn on the light in the hall"], [], LOST),
        (["turn on the light in the hall in ten minutes"], [], NOT_NOW),
        (["turn on the light in the hall", "and in the office in an hour"], ["light_on hall"], NOT_NOW),
        (["turn on the light in the hall", "and not in the office"], ["light_on hall"], LOST),
        (["turn on the light in the hall or the office", "the office"], ["light_on office"], "in the office is on"),
        (["turn on all lights except in the hall", "the office"], ["light_on office"], "in the office is on"),
        (["unlock the front door", "yes, in ten minutes"], [], "Shall I unlock the front door?"),
        (["unlock the front door", "yes, the back door"], [], "Shall I unlock the back door?"),
        (["unlock the front door", "yes, unlock it"], ["unlock front door"], "is unlocked"),
        (["unlock the front door", "please unlock the door"], ["unlock front door"], "is unlocked"),
        (["unlock the front door", "lock it"], [], "Shall I unlock the front door?"),
        (["unlock the front door", "don't unlock it"], [], "What shall I change?"),
        (
            ["unlock the front door and unlock the garage", "yes", "sure"],
            ["unlock front door", "unlock garage door"],
            "The garage door is unlocked.",
        ),
        (["unlock the front door and unlock the garage", "cancel", "yes"], [], LOST),
        (["turn on the light", "in the hall in ten minutes"], [], NOT_NOW),
        (
            ["turn on the light and close the blinds in the hall", "the office"],
            ["close_blinds hall", "light_on office"],
            "The light in the office is on.",
        ),
        (
            ["set the bedroom to 20 or 21 degrees", "21 degrees"],
            ["heating bedroom 21"],
            "I set the bedroom to 21 degrees.",
        ),
        (["turn on the light", "not in the hall, in the office"], ["light_on office"], "in the office is on"),
    ],
)
def test_what_is_asked_about(texts: list[str], done: list[str], answer: str):
    carried, said = carried_out(*texts)
    assert carried == done
    assert answer in said[-1]


def test_a_turn_of_many_wishes_waits_for_each_fulfilment():
    caller = Caller(HOUSE)
    text = "turn off the light in the hall and turn on the light in the office"
    caller(events.Understood(1.0, text, UNDERSTAND(text, NOW)))
    assert caller.fulfil.name == "light_off"
    assert caller(events.FulfilmentFailed(2.0, caller.fulfil.number)) == "Sorry, the house did not answer."
    assert caller.fulfil.name == "light_on"


def wishes_of(*parts: tuple[str, str]) -> Understanding:
    """Makes the understanding of a text whose parts have intents, each one of the bar."""
    text, readings = " ".join(part for part, _ in parts), list[Reading]()
    for part, intent in parts:
        start = text.index(part)
        readings.append(Reading(intent, 0.9, (), "command", negated=False, start=start, end=start + len(part)))
    return Understanding(parts[0][1], 0.9, values=find_values(text, NOW), readings=tuple(readings))


@pytest.mark.parametrize(
    ("parts", "said", "waiting"),
    [
        ((("I need a latte,", "order"), ("give me a small one", "order")), "1 small latte?", 0),
        ((("a small latte please,", "order"), ("can I have that", "order")), "1 small latte?", 0),
        ((("a small latte", "order"), ("and a large mocha", "order")), "1 small latte?", 1),
        ((("a small latte", "order"), ("and when do you open", "hours")), "At nine. Back to where we were. 1 small", 0),
        ((("book for tomorrow,", "book"), ("it is for Ada at noon", "book")), "Which name?", 0),
    ],
)
def test_parts_that_ask_for_the_same_are_one_wish(parts: tuple[tuple[str, str], ...], said: str, waiting: int):
    caller = Caller()
    text = " ".join(part for part, _ in parts)
    assert said in caller(events.Understood(1.0, text, wishes_of(*parts)))
    assert len(caller.state.wishes) == waiting


def test_a_second_wish_of_an_intent_under_way_is_a_detail_of_it():
    caller = Caller()
    caller.say("a latte", "order")
    parts = (("I'd like it small,", "order"), ("give me a light roast", "order"))
    text = " ".join(part for part, _ in parts)
    assert caller(events.Understood(2.0, text, wishes_of(*parts))) == "1 small light roast latte?"
    assert not caller.state.wishes


@pytest.mark.parametrize(
    ("sentences", "intent"), [(("tell me about my repair", "is my bike ready"), "repair"), (("repair my bike",), None)]
)
def test_a_question_asks_for_an_intent_whose_own_sentences_ask_so(sentences: tuple[str, ...], intent: str | None):
    form = {"name": "shop", "no_match": {"say": "Sorry?"}, "intents": {"repair": {"fulfilment": "repair"}}}
    agent = dataclasses.replace(agent_of(form), sentences={"repair": sentences})
    assert target_of(agent, Understanding("repair", 0.9), "is my bike ready yet") == intent
