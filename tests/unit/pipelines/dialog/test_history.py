"""What was said last is kept for language models alone, and never of intents with sensitive slots."""

from __future__ import annotations

from typing import Any

from pipelines.data.dialog import events
from pipelines.data.dialog.state import Line
from tests.unit.pipelines.dialog.agents import BAR, Caller, agent_of

MODEL = {"language_model": {"url": "https://example.com", "model": "small", "turns": 2}}
CHATTY: dict[str, Any] = {
    **BAR,
    "intents": {**BAR["intents"], "chat": {"fulfilment": "talk"}},
    "fulfilments": {"talk": MODEL, "order": {"reply": {}}},
}


def lines(caller: Caller) -> list[str]:
    return [f"{'caller' if line.is_caller else 'agent'}: {line.text}" for line in caller.state.lines]


def test_what_is_not_understood_may_begin_an_intent():
    caller = Caller(agent_of({**CHATTY, "fallback": "chat"}))
    caller.say("why do bees hum")
    assert caller.fulfil.name == "talk"
    assert caller.fulfil.lines[-1].text == "why do bees hum"
    caller = Caller(agent_of({**CHATTY, "fallback": "chat"}))
    caller.say("a latte", "order", ("drink", "latte"))
    assert caller.say("why do bees hum") == "Sorry? Which size?"


def test_a_turn_ends_a_language_model_that_still_talks():
    caller = Caller(agent_of(CHATTY))
    caller.say("tell me about bees", "chat")
    number = caller.fulfil.number
    assert caller.say("a latte", "order", ("drink", "latte")) == "Which size?"
    assert caller(events.Progressed(caller.now, number, "Bees hum.")) == ""
    assert caller(events.Fulfilled(caller.now, number)) == ""
    assert caller.say("small") == "1 small latte?"


def test_a_turn_goes_back_to_what_the_language_model_interrupted():
    caller = Caller(agent_of(CHATTY))
    caller.say("a latte", "order", ("drink", "latte"))
    caller.say("tell me about bees", "chat")
    assert caller.state.fulfilling
    assert caller.say("small") == "1 small latte?"
    caller.say("tell me about bees", "chat")
    caller(events.Dtmf(caller.now, "1"))
    assert caller.fulfil.name == "order"


def test_other_fulfilments_are_not_interrupted():
    caller = Caller(agent_of(CHATTY))
    caller.say("a small latte", "order", ("drink", "latte"), ("size", "small"))
    caller.say("yes")
    assert caller.fulfil.name == "order"
    assert caller.say("tell me about bees", "chat") == "One moment, please."


def test_agents_without_a_language_model_keep_nothing():
    caller = Caller()
    caller.say("a latte", "order", ("drink", "latte"))
    assert caller.state.lines == ()
    assert caller.state.passage == ""


def test_the_last_turns_are_kept():
    caller = Caller(agent_of(CHATTY))
    caller.say("a latte", "order", ("drink", "latte"))
    assert lines(caller) == ["agent: Hello.", "caller: a latte", "agent: Which size?"]
    caller.say("small")
    caller.say("tell me about bees", "chat")
    assert lines(caller) == [
        "agent: Which size?",
        "caller: small",
        "agent: 1 small latte?",
        "caller: tell me about bees",
    ]


def test_a_fulfilment_is_told_them():
    caller = Caller(agent_of(CHATTY))
    caller.say("hello")
    caller.say("tell me about bees", "chat", answer="Bees dance.")
    assert caller.fulfil.lines[-1] == Line("tell me about bees", is_caller=True)
    assert [line.text for line in caller.fulfil.lines[:-1]] == ["Hello.", "hello", "Hello."]


def test_intents_with_sensitive_slots_leave_no_lines():
    caller = Caller(agent_of(CHATTY))
    caller.say("a table for tomorrow at seven pm", "book")
    caller.say("Ada Lovelace")
    assert "Ada" in caller.said
    assert lines(caller) == ["agent: Hello."]
    caller.say("yes")
    assert lines(caller) == ["agent: Hello."]
    caller.say("tell me about bees", "chat")
    assert lines(caller) == ["agent: Hello.", "caller: tell me about bees"]


def test_what_was_said_stands_in_no_repr():
    caller = Caller(agent_of(CHATTY))
    caller.say("xyzzy")
    assert "xyzzy" not in repr(caller.state.lines)
