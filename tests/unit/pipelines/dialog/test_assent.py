"""Consent: what carries an intent out, what does not, what changes it, and what ends or cancels it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import End, Fulfil
from tests.unit.pipelines.dialog.agents import BAR, Caller, agent_of

PHRASES = Path(__file__).parent / "assent.txt"


def phrases(kind: str) -> list[str]:
    """Reads the phrases below the heading of a kind."""
    lines = PHRASES.read_text(encoding="utf-8").split(f"# {kind}\n")[1].split("#")[0]
    return " ".join(lines.split("\n")).strip().split("; ")


def confirming() -> Caller:
    caller = Caller()
    caller.say("a small latte", "order")
    assert caller.listen.confirming
    return caller


def test_yes_in_two_hundred_ways():
    def is_done(text: str) -> bool:
        caller = confirming()
        caller.say(text)
        return isinstance(caller.actions[-1], Fulfil)

    texts = phrases("yes")
    assert len(texts) == 200
    assert [text for text in texts if not is_done(text)] == []


def test_no_in_two_hundred_ways():
    def is_done(text: str) -> bool:
        caller = confirming()
        caller.say(text)
        return any(isinstance(action, Fulfil) for action in caller.actions)

    texts = phrases("no")
    assert len(texts) == 200
    assert [text for text in texts if is_done(text)] == []


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("yes, and a cookie", "Sorry? 1 small latte?"),
        ("sure, if the milk is fresh", "Sorry? 1 small latte?"),
        ("yes in five minutes", "Sorry? 1 small latte?"),
        ("do it tomorrow", "Sorry? 1 small latte?"),
        ("is that right?", "Sorry? 1 small latte?"),
        ("nothing else", "Sorry? 1 small latte?"),
        ("yes, a small latte", ""),
        ("a small latte, yes please", ""),
        ("a small latte", "1 small latte?"),
        ("hold on", "Take your time."),
        ("yes, wait a moment", "Take your time."),
        ("yes but not a latte", "Which drink?"),
        ("okay, but large", "1 large latte?"),
        ("perfect, but make it a mocha", "1 small mocha?"),
        ("not small, large", "1 large latte?"),
        ("not a latte but a mocha", "1 small mocha?"),
        ("no, two", "Two small latte?"),
        ("large doesn't work, medium", "1 medium latte?"),
        ("the drink is fine but the size is wrong", "Which size?"),
        ("change the drink", "Which drink?"),
        ("a hundred percent", ""),
        ("small or medium", "Do you mean small or medium?"),
        ("small, no, medium", "1 medium latte?"),
    ],
)
def test_answers_to_the_confirmation(said: str, answer: str):
    assert confirming().say(said) == answer


@pytest.mark.parametrize("said", ["nothing", "no", "yes", "it's all right", "that's all"])
def test_nothing_to_change_is_confirmed_again(said: str):
    caller = confirming()
    assert caller.say("no") == "What shall I change?"
    assert caller.say(said) == "1 small latte?"
    assert caller.listen.confirming


@pytest.mark.parametrize("said", ["goodbye", "okay, bye", "yes, bye", "no thanks, goodbye", "that's all, see you"])
@pytest.mark.parametrize("before", [(), ("a latte",), ("a small latte",), ("a small latte", "no")])
def test_goodbye_ends_and_fulfils_nothing(said: str, before: tuple[str, ...]):
    caller = Caller()
    for text in before:
        caller.say(text, "order" if text != "no" else "none")
    assert caller.say(said) == "Goodbye."
    assert caller.actions[-1] == End("end")


def test_nothing_is_called_cancelled_that_is_carried_out():
    caller = confirming()
    caller.say("yes")
    assert caller.say("no, cancel that") == "That cannot be cancelled any more."
    assert not caller.state.held
    assert caller(events.Fulfilled(4.0, 1)) == "Done."
    assert caller.say("cancel") == "That cannot be cancelled any more."
    caller.say("a small latte", "order")
    assert caller.say("cancel") == "All right, never mind.", "the second one was not carried out"


def test_cancel_during_a_fulfilment_leaves_what_was_interrupted():
    caller = Caller()
    caller.say("a latte", "order")
    book = {**BAR["intents"]["book"], "fulfilment": "book"}
    caller = Caller(agent_of(BAR | {"intents": BAR["intents"] | {"book": book}}))
    caller.say("a latte", "order")
    caller.say("book for tomorrow at noon", "book")
    caller.say("Ada")
    caller.say("yes")
    assert caller.say("stop") == "That cannot be cancelled any more."
    assert caller(events.Fulfilled(9.0, 1)) == "Booked for Ada. Back to where we were. Which size?"


def test_cancel_where_nothing_was_done_yet():
    assert Caller().say("never mind") == "All right, never mind."


def test_a_wish_to_cancel_is_a_wish_where_the_agent_has_one():
    form = BAR | {"intents": BAR["intents"] | {"call_off": {"response": "Which one?"}}}
    assert Caller(agent_of(form)).say("I want to cancel my order", "call_off") == "Which one?"


@pytest.mark.parametrize("said", ["no, a latte", "no wait, a latte please", "nope, I'd like a latte"])
def test_no_before_a_wish_does_not_end_the_dialog(said: str):
    form = BAR | {"begin": "Anything else?"}
    assert Caller(agent_of(form)).say(said, "order", kind="command", negated=True) == "Which size?"


@pytest.mark.parametrize("said", ["don't make a latte", "I don't want a latte", "no need to make a latte"])
def test_a_denied_wish_begins_nothing_and_ends_nothing(said: str):
    caller = Caller(agent_of(BAR | {"begin": "Anything else?"}))
    assert caller.say(said, "order") == "Sorry?"
    assert caller.say("a latte", "order") == "Which size?"


@pytest.mark.parametrize(
    "said", ["a small latte, no, never mind", "a small latte, forget it", "a small latte no don't"]
)
def test_a_wish_that_is_taken_back(said: str):
    caller = Caller()
    assert caller.say(said, "order") == "All right, never mind."
    assert caller.state.form is None


def test_courtesies_are_no_misunderstandings():
    caller = Caller()
    assert caller.say("good morning") == "Hello."
    assert caller.say("thank you") == ""
    caller.say("a latte", "order")
    assert caller.say("hi") == "Which size?"
    assert caller.say("thanks") == "Which size?"
    assert caller.state.form is not None
    assert caller.state.form.tries == {}


def test_start_again():
    caller = confirming()
    assert caller.say("let's start over") == "Which drink?"
    assert caller.slots == {"count": "1"}


def test_a_question_changes_nothing():
    caller = confirming()
    assert caller.say("how much is a large mocha", answer="Four.") == "Four. 1 small latte?"
    assert caller.say("yes, but what does a large one cost", answer="Five.") == "Five. 1 small latte?"


def test_hesitation_is_no_misunderstanding():
    caller = Caller()
    caller.say("a latte", "order")
    for said in ("hold on", "let me check the menu", "one moment please", "um, wait a second"):
        assert caller.say(said) == "Take your time."
    assert caller.say("small") == "1 small latte?"
