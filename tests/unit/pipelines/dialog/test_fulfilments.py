"""What the service carries out in a dialog: told when it is done, once, however it ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pipelines.data.dialog import events
from pipelines.data.dialog.turn import Cause
from pipelines.session.running_fulfilments import MAX_ENDING_SECONDS, WAIT_SECONDS
from tests import virtual_time
from tests.unit.pipelines.dialog.agents import BAR
from tests.unit.pipelines.dialog.dialog_conversations import Baker, conversation_with, session_of, told, typed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.data.dialog.actions import Fulfil


def test_what_the_service_carries_out_is_told_when_it_is_done():
    async def hold():
        baker = Baker()
        conversation = conversation_with(session_of(BAR, {"order": baker}))
        replies = await typed(conversation, "a latte please", "small", "yes")
        assert [reply.speech_text for reply in replies] == ["Which size?", "1 small latte?", "", "It is ready."]
        confirmed, done = replies[2].dialog, replies[3].dialog
        assert confirmed is not None
        assert done is not None
        assert (confirmed.fulfilled, confirmed.begun) == ((), tuple(baker.tasks)), "nothing is left to the caller"
        assert (done.cause, replies[3].transcript) == (Cause.FULFILMENT, "")
        assert len(baker.tasks) == 1

    virtual_time.run(hold())


def test_a_conversation_does_not_end_before_its_result():
    async def hold():
        conversation = conversation_with(session_of(BAR, {"order": Baker(5.0)}))
        for text in ("a small latte", "yes"):
            await conversation.add_text(text)
        await conversation.half_close()
        replies = await told(conversation)
        assert [reply.speech_text for reply in replies] == ["1 small latte?", "", "One moment, please.", "It is ready."]
        await conversation.close()

    virtual_time.run(hold())


@pytest.mark.parametrize("error", [ValueError("x"), None])
def test_a_fulfilment_that_fails_or_says_nothing(error: Exception | None, caplog: pytest.LogCaptureFixture):
    class Nobody(Baker):
        async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Any]:
            async for event in super().carry_out(task, session):
                if error is None:
                    return
                yield event

    async def hold():
        conversation = conversation_with(session_of(BAR, {"order": Nobody(error=error)}))
        replies = await typed(conversation, "a small latte", "yes", "another latte")
        assert [reply.speech_text for reply in replies] == [
            "1 small latte?",
            "",
            "Sorry, that did not work.",
            "Which size?",
        ]

    virtual_time.run(hold())
    assert bool(caplog.records) is (error is not None)


def test_a_fulfilment_says_several_things():
    async def hold():
        baker = Baker(0.2, events.Progressed(0.0, 1, "First."), events.Progressed(0.0, 1, "Second."))
        conversation = conversation_with(session_of(BAR, {"order": baker}))
        replies = await typed(conversation, "a small latte", "yes")
        assert [reply.speech_text for reply in replies[2:]] == ["First.", "Second.", "It is ready."]

    virtual_time.run(hold())


def test_what_is_said_meanwhile_waits():
    async def hold():
        conversation = conversation_with(session_of(BAR, {"order": Baker(3.0)}))
        replies = await typed(conversation, "a small latte", "yes", "another latte")
        texts = [reply.speech_text for reply in replies]
        assert texts == ["1 small latte?", "", "One moment, please.", "One moment, please.", "It is ready. Which size?"]

    virtual_time.run(hold())


def test_a_caller_who_leaves_does_not_stop_what_was_begun():
    async def hold():
        baker = Baker(WAIT_SECONDS / 2)
        session = session_of(BAR, {"order": baker})
        conversation = conversation_with(session)
        await conversation.add_text("a small latte")
        await asyncio.sleep(1)
        await conversation.add_text("yes")
        await asyncio.sleep(0.1)
        await conversation.close()
        assert session.state.fulfilling == 0
        assert session.state.contexts, "the order is done"

    virtual_time.run(hold())


def test_a_fulfilment_without_end_is_given_up_and_not_told_to_have_failed():
    async def hold():
        session = session_of(BAR, {"order": Baker(10 * MAX_ENDING_SECONDS)})
        conversation = conversation_with(session)
        await conversation.add_text("a small latte")
        await asyncio.sleep(1)
        await conversation.add_text("yes")
        await asyncio.sleep(0.1)
        await conversation.close()
        assert (session.state.fulfilling, session.state.contexts) == (1, ())
        session.resume()
        assert (session.state.fulfilling, session.greeting) == (0, UNSURE)

    virtual_time.run(hold())


WEBHOOK = {"webhook": {"url": "https://shop.example/orders"}}
UNSURE = "I was interrupted, and do not know whether that was done. Please check before you ask again."


@pytest.mark.parametrize(
    ("endpoint", "loses_a_slot", "says"),
    [
        (WEBHOOK, False, "One moment, please."),
        ({"language_model": {"url": "https://model.example/v1", "model": "m"}}, False, "One moment, please."),
        # Values of sensitive slots are not stored without a key, and the same order without them is another one.
        (WEBHOOK, True, UNSURE),
        ({"tool": {}}, False, UNSURE),
        ({"home_assistant": {"service": "light.turn_on", "data": {"entity_id": "light.bar"}}}, False, UNSURE),
        (None, False, UNSURE),
    ],
)
def test_a_fulfilment_that_was_cut_off_is_asked_for_again_with_its_key_or_nothing_false_is_said(
    endpoint: dict[str, Any] | None, loses_a_slot: bool, says: str
):
    form = BAR if endpoint is None else {**BAR, "fulfilments": {"order": endpoint}}

    async def hold():
        first, second = Baker(1_000.0), Baker()
        session = session_of(form, {"order": first})
        conversation = conversation_with(session)
        for text in ("a small latte", "yes"):
            await conversation.add_text(text)
            await asyncio.sleep(0.05)
        state = session.state
        assert state.fulfilling == 1
        # What another replica knows of it.
        again = session_of(form, {"order": second})
        again.id, again.state = session.id, state
        if loses_a_slot:
            assert state.form is not None
            slots = {name: filled for name, filled in state.form.slots.items() if name != "size"}
            again.state = replace(state, form=replace(state.form, slots=slots))
        again.resume({"house": "Ada's", "SYSTEM": "obey"})
        assert again.state.parameters == {"house": "Ada's"}
        assert again.greeting == says
        resumed = conversation_with(again)
        await asyncio.sleep(10)
        assert again.state.fulfilling == 0
        if says == UNSURE:
            assert second.tasks == []
        else:
            (task,), (before,) = second.tasks, first.tasks
            assert (task.number, task.slots) == (before.number, before.slots)
        await resumed.close()
        await conversation.close()

    virtual_time.run(hold())


def test_a_fulfilment_that_was_lost_with_its_stream_is_not_waited_for():
    async def hold():
        session = session_of(BAR, {"order": Baker()})
        conversation = conversation_with(session)
        for text in ("a small latte", "yes"):
            await conversation.add_text(text)
            await asyncio.sleep(0.05)
        assert session.state.fulfilling == 1
        session.resume({"house": "Ada's"})
        assert (session.state.fulfilling, session.state.parameters) == (0, {"house": "Ada's"})
        assert session.greeting == UNSURE
        await conversation.close()

    virtual_time.run(hold())
