"""Tools on a real socket: an agent asks the caller's program, by the SDK with and without asyncio."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

import vivavoce
from pipelines.dialog.sessions import DialogSessions
from service.sessions.dialogs import Dialogs
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.pipelines.dialog.test_tools import TOOLS
from tests.unit.service.harness import Harness
from tests.unit.service.test_dialogs import OrderingModels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

ORDER = ("a latte please", "small", "yes")


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    dialogs = Dialogs({"bar": agent_of(TOOLS)}, DialogSessions())
    async with Harness.running(models=OrderingModels(0.001, 0.001, 0.001), dialogs=dialogs) as running:
        yield running


async def spoken(until: asyncio.Event, *texts: str) -> AsyncIterator[vivavoce.TypedTurn]:
    for text in texts:
        yield vivavoce.TypedTurn(text)
    await until.wait()


async def test_the_sdk_runs_tools(harness: Harness):
    over = asyncio.Event()
    calls = []

    async def order(call: vivavoce.ToolCall) -> vivavoce.ToolResult:
        calls.append(call)
        return vivavoce.ToolResult({"size": "large"}, say="It comes.", parameters={"house": "Ada's"})

    said = []
    async with vivavoce.connect(harness.address) as client:
        turns = spoken(over, *ORDER)
        async for event in client.converse(turns, audio=None, agent="bar", tools={"order": order}):
            if isinstance(event, vivavoce.Reply):
                said.append(event.speech_text)
                if event.speech_text == "It comes.":
                    assert event.dialog is not None
                    assert event.dialog.parameters == {"house": "Ada's"}
                    assert event.dialog.cause is vivavoce.DialogCause.FULFILMENT
                    over.set()
    assert said == ["Which size?", "1 small latte?", "", "It comes."]
    (call,) = calls
    assert (call.name, call.intent, call.deadline_seconds) == ("order", "order", 5.0)
    assert call.arguments == {"drink": "latte", "size": "small", "count": "1"}


async def test_results_are_sent_by_hand_and_ignored_where_nobody_waits(harness: Harness):
    over = asyncio.Event()
    notices, said = [], []
    async with vivavoce.connect(harness.address) as client:
        conversation = client.converse(spoken(over, *ORDER), audio=None, agent="bar", reconnect_seconds=5)
        async for event in conversation:
            match event:
                case vivavoce.ToolCall():
                    conversation.send_tool_result("nonsense")
                    conversation.send_tool_result(event, vivavoce.ToolResult({"milk": "oat"}))
                    conversation.send_tool_result(event)
                    conversation.send_tool_result(event)
                case vivavoce.Notice():
                    notices.append(event)
                case vivavoce.Reply():
                    said.append(event.speech_text)
            if len(notices) == 3 and said[-1] == "Done.":
                over.set()
    assert said[-1] == "Done."
    assert {notice.code for notice in notices} == {vivavoce.NoticeCode.TOOL_RESULT_IGNORED}
    assert [notice.message.split(":")[0] for notice in notices] == [
        "a tool result names an id that no tool_call has",
        "a tool result names the slot 'milk'",
        "a tool result came a second time",
    ]


async def test_the_sdk_without_asyncio_runs_tools(harness: Harness):
    def order(call: vivavoce.ToolCall) -> vivavoce.ToolResult:
        return vivavoce.ToolResult(say=f"A {call.arguments['size']} one, {threading.current_thread() is not main}.")

    def hold(answer: Callable[[vivavoce.sync.Conversation, vivavoce.ToolCall], None] | None = None) -> str:
        with vivavoce.sync.connect(harness.address) as client:
            tools = None if answer else {"order": order}
            conversation = client.converse(None, audio=None, agent="bar", tools=tools)
            for text in ORDER:
                conversation.send(vivavoce.TypedTurn(text))
            for event in conversation:
                match event:
                    case vivavoce.ToolCall() if answer:
                        answer(conversation, event)
                    case vivavoce.Reply(dialog=vivavoce.Dialog(cause=vivavoce.DialogCause.FULFILMENT)):
                        conversation.finish()
                        return event.speech_text
        raise AssertionError("no result came")

    main = threading.current_thread()
    assert await asyncio.to_thread(hold) == "A small one, True."
    by_hand = vivavoce.ToolResult(say="By hand.")
    said = await asyncio.to_thread(hold, lambda conversation, call: conversation.send_tool_result(call, by_hand))
    assert said == "By hand."
