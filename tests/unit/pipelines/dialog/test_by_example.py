"""Understanding by an agent's sentences: intents by words, values and meaning; several wishes; what is none of them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipelines.data.understanding import NO_INTENT, Slot, Understanding
from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.value_list import ValueList
from pipelines.dialog.by_example import MAX_PIECES, ExampleUnderstanding, by_example, is_unknown_to, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

NOW = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
AGENT = Agent(
    AgentForm.model_validate(
        {
            "name": "shop",
            "intents": {
                "order": {
                    "slots": {"pizza": {"type": "closed"}, "day": {"type": "date", "heard_as": "when"}},
                    "response": "Done.",
                },
                "drinks": {"slots": {"drink": {"type": "closed"}}, "response": "Done."},
                "cancel_order": {"response": "Gone.", "heard_as": "revoke"},
                "complain": {"response": "Sorry."},
            },
        }
    ),
    {"pizza": ValueList(("Hawaii", "Salami"), {}), "drink": ValueList(("cola", "beer"), {"beers": "beer"})},
    {
        "order": ("I'd like to order a pizza", "can you bring me a Hawaii", "two Salami for tomorrow please"),
        "drinks": ("and a cola please", "I'd like something to drink", "three beers"),
        "cancel_order": ("I want to cancel my order", "please cancel that delivery", "I don't want the food any more"),
        "complain": ("the food was cold", "my delivery never came", "I want to make a complaint"),
    },
)


@pytest.mark.parametrize(
    ("said", "intent"),
    [
        ("I would like to order pizza please", "order"),
        ("can you bring a salami", "order"),
        ("please cancel my order", "cancel_order"),
        ("the pizza was cold", "complain"),
        ("well, you know, my wife said we should call, the food was cold, and she is not amused", "complain"),
        ("how tall is the Eiffel Tower", NO_INTENT),
        ("", NO_INTENT),
    ],
)
def test_intents_by_words(said: str, intent: str):
    assert ExampleUnderstanding(AGENT)(said, NOW).intent == intent


@pytest.mark.parametrize(
    ("said", "wishes"),
    [
        ("two Salami for tomorrow, and three beers", ["order", "drinks"]),
        ("I'd like to order a pizza and cancel my order", ["order", "cancel_order"]),
        ("two Salami, a Hawaii", []),
    ],
)
def test_several_wishes(said: str, wishes: list[str]):
    assert [one.intent for one in ExampleUnderstanding(AGENT)(said, NOW).readings] == wishes


def test_meaning_counts_beside_words():
    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array(
            [[1.0, 0.0] if "cold" in text or "lukewarm" in text else [0.0, 1.0] for text in texts], np.float32
        )

    said = "everything arrived lukewarm"
    agent = Agent(AGENT.form, AGENT.values, AGENT.sentences | {"complain": ("the food was cold", "it came cold")})
    assert ExampleUnderstanding(agent)(said, NOW).intent == NO_INTENT
    assert ExampleUnderstanding(agent, embed)(said, NOW).intent == "complain"


def test_an_engine_that_knows_the_agent_is_believed():
    assert is_unknown_to(AGENT, Understanding("alarm_set", 0.9, considered=("alarm_set", "weather")))
    assert not is_unknown_to(AGENT, Understanding(NO_INTENT, 0.3, considered=("revoke", "order")))
    assert not is_unknown_to(Agent(AGENT.form, AGENT.values, {}), Understanding("alarm_set", 0.9))


def test_slots_of_an_engine_count_where_the_agent_names_them():
    slots = (Slot("day", "Tuesday", "Tuesday", 0, 7), Slot("when", "Tuesday", "Tuesday", 0, 7))
    read = by_example(AGENT, "Tuesday", Understanding("alarm_set", 0.9, slots))
    assert [slot.name for slot in read.slots] == ["when"]


def test_the_pieces_of_a_text_are_few():
    text = ", ".join(f"we want number {number} now" for number in range(40))
    assert len(parts_of(text)) <= 1 + 4 + MAX_PIECES
