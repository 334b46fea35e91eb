"""The dialog's machine: confirmation, steering, digression, contexts, silence, fulfilment and its ends."""

from __future__ import annotations

import pytest

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import End, Fulfil, Listen
from tests.unit.pipelines.dialog.agents import BAR, Caller, agent_of


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def confirming(caller: Caller) -> Caller:
    caller.say("a small latte", "order")
    assert caller.listen.confirming
    return caller


def fulfilled(caller: Caller) -> Caller:
    caller.say("a small latte", "order")
    caller.say("yes")
    caller(events.Fulfilled(caller.now, caller.fulfil.number))
    return caller


def test_begins(caller: Caller):
    assert caller.said == "Hello."
    assert caller.listen == Listen(no_input_seconds=8.0)
    assert caller.state.parameters == {"house": "the bar"}


@pytest.mark.parametrize("said", ["yes", "yeah", "that's right", "okay", "sounds good", "well yes please", "Correct."])
def test_yes_fulfils(confirming: Caller, said: str):
    confirming.say(said)
    assert confirming.fulfil.name == "order"
    assert confirming.fulfil.slots == {"drink": "latte", "size": "small", "count": "1"}


@pytest.mark.parametrize("said", ["no", "nope", "that's wrong", "not quite", "No, that is not right"])
def test_no_asks_what_to_change(confirming: Caller, said: str):
    assert confirming.say(said) == "What shall I change?"
    assert not confirming.listen.confirming
    assert confirming.say("the size") == "Which size?"
    assert confirming.say("large") == "1 large latte?"


def test_no_and_the_name_of_a_slot(confirming: Caller):
    assert confirming.say("no, the size is wrong") == "Which size?"


def test_response_follows_the_fulfilment(confirming: Caller):
    confirming.say("yes")
    assert confirming(events.Fulfilled(3.0, 1)) == "Done."
    assert confirming.state.form is None


def test_fulfilment_may_say_something_else(confirming: Caller):
    confirming.say("yes")
    assert confirming(events.Fulfilled(3.0, 1, {"size": "large", "unknown": "x"}, "Number 7.")) == "Number 7."


def test_result_twice_or_of_another_number_is_ignored(confirming: Caller):
    confirming.say("yes")
    assert confirming(events.Fulfilled(3.0, 2)) == ""
    assert confirming.state.fulfilling == 1
    assert confirming(events.Fulfilled(3.0, 1)) == "Done."
    before = confirming.state
    assert confirming(events.Fulfilled(4.0, 1)) == ""
    assert confirming(events.FulfilmentFailed(4.0, 1)) == ""
    assert confirming.state.contexts == before.contexts


def test_failed_fulfilment(confirming: Caller):
    confirming.say("yes")
    assert confirming(events.FulfilmentFailed(3.0, 1)) == "Sorry, that did not work."
    assert confirming.state.form is None
    assert not confirming.state.contexts


def test_turns_wait_for_the_fulfilment(confirming: Caller):
    confirming.say("yes")
    assert confirming.say("and when do you open", "hours") == "One moment, please."
    assert confirming(events.Fulfilled(4.0, 1)) == "Done. At nine."
    assert [type(action) for action in confirming.actions].count(Listen) == 1


def test_of_many_turns_that_wait_the_first_are_kept(confirming: Caller):
    confirming.say("yes")
    for _ in range(50):
        confirming.say("a large mocha", "order")
    assert len(confirming.state.held) == 4
    confirming(events.Fulfilled(90.0, 1))
    assert confirming.listen.confirming


def test_silence_and_keys_during_a_fulfilment(confirming: Caller):
    confirming.say("yes")
    assert confirming(events.Silence(9.0)) == ""
    assert confirming(events.Dtmf(9.0, "1")) == "One moment, please."
    assert confirming.state.fulfilling == 1


def test_preview_has_no_effect(confirming: Caller):
    state = confirming.state
    preview = Caller(confirming.agent)
    preview.state = state
    preview.say("yes")
    assert isinstance(preview.actions[-1], Fulfil)
    assert confirming.state is state
    assert not confirming.state.fulfilling


@pytest.mark.parametrize("said", ["say that again", "can you repeat that please", "pardon", "what did you say"])
def test_repeats(confirming: Caller, said: str):
    assert confirming.say(said) == "1 small latte?"
    assert confirming.say(said) == "1 small latte?"


def test_what_is_asked_of_the_dialog_itself():
    caller = Caller()
    caller.say("book", "book")
    assert caller.say("are you a robot") == "I am a computer program. Which day?"
    caller.say("tomorrow at nine")
    assert caller.say("what did I say so far") == "So far I have: tomorrow at nine, tomorrow at nine. Which name?"
    assert caller.say("just a second, it is in the other room") == "Take your time."
    assert caller.say("go back") == "What time?"
    caller.say("ten")
    assert caller.say("oh, that's my bus, I'll call you later, bye") == "Goodbye."
    assert caller.end == "end"


def test_a_person_is_asked_for():
    caller = Caller()
    caller.say("book", "book")
    assert caller.say("listen, I want to talk to a human being") == "Of course. I will hand you over to a colleague."
    assert caller.end == "hand_over"


@pytest.mark.parametrize("said", ["cancel", "never mind", "no cancel that please", "forget it", "I changed my mind"])
def test_cancels(confirming: Caller, said: str):
    assert confirming.say(said) == "All right, never mind."
    assert confirming.state.form is None


def test_help_tells_choices(caller: Caller):
    caller.say("a latte", "order")
    assert caller.say("which sizes are there") == "You can say small, medium or large. Which size?"
    caller.say("cancel")
    assert caller.say("help me please") == "Tell me what I can do for you."


def test_goodbye(caller: Caller):
    assert caller.say("bye") == "Goodbye."
    assert caller.end == "end"
    assert caller.say("hello") == ""
    assert caller.actions == ()


def test_digression_and_return(caller: Caller):
    caller.say("a latte", "order")
    assert caller.say("when do you open", "hours") == "At nine. Back to where we were. Which size?"
    assert caller.say("large") == "1 large latte?"


def test_digression_with_slots_of_its_own(confirming: Caller):
    assert confirming.say("book a table", "book") == "Which day?"
    confirming.say("tomorrow at noon")
    confirming.say("Ada")
    assert confirming.say("yes") == "Booked for Ada. Back to where we were. 1 small latte?"
    assert confirming.listen.confirming


def test_cancelled_digression_returns(confirming: Caller):
    confirming.say("book a table", "book")
    assert confirming.say("cancel") == "All right, never mind. Back to where we were. 1 small latte?"


def test_digressions_are_bounded(caller: Caller):
    for _ in range(10):
        caller.say("a latte", "order")
        caller.say("book a table", "book")
    assert len(caller.state.suspended) <= 3


def test_bare_answer_is_no_digression(caller: Caller):
    caller.say("a latte", "order")
    assert caller.say("a small one please", "hours") == "1 small latte?"


def test_question_answered_from_documents_in_between(caller: Caller):
    caller.say("a latte", "order")
    assert caller.say("who owns the bar", answer="Ada does.") == "Ada does. Which size?"
    caller.say("cancel")
    assert caller.say("who owns the bar", answer="Ada does.") == "Ada does."


def test_negated_command_begins_nothing(caller: Caller):
    assert caller.say("don't book a table", "book", kind="command", negated=True) == "Sorry?"


def test_unsure_intent_begins_nothing(caller: Caller):
    assert caller.say("book", "book", confidence=0.4) == "Sorry?"


def test_unknown_intent_is_not_understood(caller: Caller):
    assert caller.say("play some jazz", "play_music") == "Sorry?"


def test_context_is_needed(caller: Caller):
    assert caller.say("how long will it take", "wait") == "Sorry?"
    assert fulfilled(caller).say("how long will it take", "wait") == "Two minutes."


def test_context_ends_after_its_turns():
    caller = fulfilled(Caller())
    assert [caller.say("how long", "wait") for _ in range(3)] == ["Two minutes.", "Two minutes.", "Sorry?"]


def test_context_ends_after_its_seconds():
    caller = fulfilled(Caller())
    caller.now += 60
    assert caller.say("how long", "wait") == "Sorry?"


def test_follow_up(caller: Caller):
    assert caller.say("when do you open", "hours") == "At nine."
    assert caller.say("and on Sunday?") == "At nine on Sunday."
    assert caller.say("and on Monday?") == "At nine on Monday."
    assert caller.say("thanks a lot") == ""
    assert caller.say("and on Sunday?") == "Sorry?", "the context has ended"


def test_response_by_a_parameter():
    assert Caller(house="closed").say("when do you open", "hours") == "Never."


def test_parameters_in_mid_stream(caller: Caller):
    caller(events.ParametersSet(1.0, {"house": "closed"}))
    assert caller.actions == ()
    assert caller.say("when do you open", "hours") == "Never."


def test_hand_over(caller: Caller):
    assert caller.say("a person please", "person") == "Of course. I will hand you over to a colleague."
    assert caller.end == "hand_over"


def test_no_match_ends(caller: Caller):
    assert [caller.say("bananas") for _ in range(3)] == ["Sorry?", "What?", "Goodbye."]
    assert caller.end == "end"


def test_no_match_is_counted_anew(caller: Caller):
    caller.say("bananas")
    caller.say("bananas")
    caller.say("when do you open", "hours")
    assert caller.say("bananas") == "Sorry?"


def test_no_match_of_a_slot_has_its_own_count(caller: Caller):
    caller.say("order please", "order")
    assert [caller.say("xyz") for _ in range(3)] == [
        "Sorry? Say latte, mocha, iced mocha or iced coffee.",
        "What? Say latte, mocha, iced mocha or iced coffee.",
        "Goodbye.",
    ]


def test_no_match_may_go_on():
    form = BAR | {"no_match": {"say": [], "times": 0, "then": "continue"}}
    caller = Caller(agent_of(form))
    assert caller.say("bananas") == "Tell me what I can do for you."
    caller.say("a latte", "order")
    caller.say("xyz")
    assert caller.say("xyz") == "All right, never mind."
    assert caller.listen == Listen(no_input_seconds=8.0)


def test_interrupted_question_does_not_count(caller: Caller):
    caller.say("a latte", "order")
    caller(events.Interrupted(2.0))
    assert caller.say("uh") == "Which size?"
    assert caller.say("uh") == "Sorry? Which size?"


def test_silence(caller: Caller):
    caller.say("a latte", "order")
    assert caller(events.Silence(9.0)) == "Are you still there? Which size?"
    assert caller(events.Silence(17.0)) == "Are you still there? Which size?"
    assert caller(events.Silence(25.0)) == "Goodbye."
    assert caller.actions[-1] == End("end")


def test_silence_may_go_on():
    caller = Caller(agent_of(BAR | {"no_input": {"times": 1, "then": "continue"}}))
    caller(events.Silence(9.0))
    assert caller(events.Silence(17.0)) == ""
    assert caller.listen == Listen(no_input_seconds=None)
    caller.say("a latte", "order")
    assert caller.listen.no_input_seconds == 8.0


def test_empty_turn_is_not_understood(caller: Caller):
    assert caller.say("…") == "Sorry?"


def test_yes_and_no_where_something_was_offered():
    form = BAR | {"intents": BAR["intents"] | {"offer": {"response": "Anything else?"}}}
    caller = Caller(agent_of(form))
    caller.say("offer", "offer")
    assert caller.say("yes") == "Tell me what I can do for you."
    caller.say("offer", "offer")
    assert caller.say("no thanks") == "Goodbye."
    assert caller.end == "end"


def test_that_is_all_confirms(confirming: Caller):
    confirming.say("that's all")
    assert confirming.fulfil.intent == "order"
