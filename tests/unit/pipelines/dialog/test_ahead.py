"""Fulfilments that change nothing run before the turn is over; all others do not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.data.dialog import events
from pipelines.data.dialog.turn import Cause
from pipelines.data.understanding import NO_INTENT, Understanding
from pipelines.dialog.session import DialogSession
from pipelines.dialog.speculative_fulfilment import MAX_AGE_SECONDS, AheadFulfiller
from tests import virtual_time
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.pipelines.dialog.dialog_conversations import Ends, conversation_with, typed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.data.dialog.actions import Fulfil

WEBHOOK = {"url": "https://example.com/menu"}
SAFE = {**BAR, "fulfilments": {"order": {"webhook": {**WEBHOOK, "safe": True}}}}
UNSAFE = {**BAR, "fulfilments": {"order": {"webhook": WEBHOOK}}}
READING = {**BAR, "fulfilments": {"order": {"home_assistant": {"entity": "sensor.{size}", "into": "size"}}}}
CALLING = {**BAR, "fulfilments": {"order": {"home_assistant": {"service": "light.turn_on"}}}}


class Kitchen:
    """Answers after some time, or fails so often."""

    def __init__(self, seconds: float = 0.05, failures: int = 0) -> None:
        self.seconds, self.failures = seconds, failures
        self.tasks: list[Fulfil] = []

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Any]:
        self.tasks.append(task)
        await asyncio.sleep(self.seconds)
        now = asyncio.get_running_loop().time()
        if len(self.tasks) <= self.failures:
            yield events.FulfilmentFailed(now, task.number)
        else:
            yield events.Fulfilled(now, task.number, say=f"A {task.slots['size']} one.")


def session_of(kitchen: Kitchen, form: dict[str, Any] = SAFE) -> DialogSession:
    session = DialogSession(agent_of(form), asyncio.get_running_loop().time, {"order": kitchen})
    session.begin()
    return session


def confirmed(session: DialogSession) -> None:
    """Holds the dialog up to its confirmation."""
    session.commit(session.preview("a small latte", Understanding("order", 0.9)))
    assert session.state.form is not None
    assert session.state.form.confirming


def test_the_result_is_part_of_the_reply():
    async def hold():
        kitchen = Kitchen()
        ends = Ends()
        conversation = conversation_with(session_of(kitchen), ends)
        replies = await typed(conversation, "a latte please", "small", "yes")
        assert ends.heard == [("order", 0.0, "done")]
        assert [reply.speech_text for reply in replies] == ["Which size?", "1 small latte?", "A small one."]
        last = replies[-1].dialog
        assert last is not None
        assert (last.cause, last.fulfilled, last.begun) == (Cause.TURN, (), ())
        assert len(kitchen.tasks) == 1

    virtual_time.run(hold())


@pytest.mark.parametrize("seconds", [0.2, 0.6, 3.0])
def test_a_slow_one_does_not_hold_the_reply_up_and_runs_once(seconds: float):
    async def hold():
        kitchen = Kitchen(seconds)
        replies = await typed(conversation_with(session_of(kitchen)), "a latte please", "small", "yes", wait=5)
        moment = ["One moment, please."] if seconds > 1 else []
        assert [reply.speech_text for reply in replies[2:]] == ["", *moment, "A small one."]
        assert len(kitchen.tasks) == 1

    virtual_time.run(hold())


def test_one_that_failed_ahead_is_tried_again():
    async def hold():
        kitchen = Kitchen(failures=1)
        replies = await typed(conversation_with(session_of(kitchen)), "a latte please", "small", "yes", wait=1)
        assert replies[-1].speech_text == "A small one."
        assert len(kitchen.tasks) == 2

    virtual_time.run(hold())


@pytest.mark.parametrize(("form", "runs"), [(SAFE, 1), (READING, 1), (UNSAFE, 0), (CALLING, 0)])
def test_what_runs_before_the_turn_is_over(form: dict[str, Any], runs: int):
    async def hold():
        kitchen = Kitchen()
        session = session_of(kitchen, form)
        confirmed(session)
        preview = session.preview("yes", Understanding(NO_INTENT))
        (task,) = preview.begun
        await session.run_ahead(preview, 1.0)
        assert len(kitchen.tasks) == runs
        again = session.preview("yes", Understanding(NO_INTENT))
        assert (again.text == "A small one.") == bool(runs)
        assert again.done == (task,) * runs
        assert session.state.fulfilling == 0, "a preview changes nothing"

    virtual_time.run(hold())


def test_other_slots_give_up_what_ran_for_the_first_ones():
    async def hold():
        kitchen = Kitchen(1.0)
        ahead = AheadFulfiller(kitchen, asyncio.get_running_loop().time)
        session = session_of(kitchen, UNSAFE)
        confirmed(session)
        (first,) = session.preview("yes", Understanding(NO_INTENT)).begun
        session.commit(session.preview("no, a large one", Understanding(NO_INTENT)))
        (second,) = session.preview("yes", Understanding(NO_INTENT)).begun
        assert first != second
        running = ahead.begin(first, "s")
        assert ahead.begin(first, "s") is running
        await asyncio.sleep(0)
        ahead.begin(second, "s")
        await asyncio.wait((running,))
        assert running.cancelled()
        assert [event.say async for event in ahead.carry_out(second, "s")] == ["A large one."]
        assert ahead.result_of(first) is None

    virtual_time.run(hold())


def test_an_old_result_is_none():
    async def hold():
        kitchen = Kitchen()
        session = session_of(kitchen)
        confirmed(session)
        preview = session.preview("yes", Understanding(NO_INTENT))
        await session.run_ahead(preview, 1.0)
        await asyncio.sleep(MAX_AGE_SECONDS + 1)
        assert session.preview("yes", Understanding(NO_INTENT)).begun
        await session.run_ahead(preview, 1.0)
        assert len(kitchen.tasks) == 2

    virtual_time.run(hold())


def test_a_conversation_that_ends_gives_up_what_runs_ahead():
    async def hold():
        kitchen = Kitchen(60.0)
        session = session_of(kitchen)
        confirmed(session)
        conversation = conversation_with(session)
        preview = session.preview("yes", Understanding(NO_INTENT))
        await session.run_ahead(preview, 0.1)
        await conversation.close()
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1

    virtual_time.run(hold())
