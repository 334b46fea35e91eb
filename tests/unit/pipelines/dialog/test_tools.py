"""Tools that the caller's program runs: results in time, twice, too late, never, and for calls that there are not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.data.messages import Notice, NoticeCode, Prompt, Reply, ToolCall
from pipelines.dialog.session import DialogSession
from pipelines.dialog.tools import MAX_REMEMBERED, ToolDesk, ToolResult
from pipelines.load.workload import Workload
from pipelines.session.config import ConversationConfig
from pipelines.session.conversation import Conversation
from tests import virtual_time
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.pipelines.dialog.dialog_conversations import Ends
from tests.unit.pipelines.dialog.test_dialog_turns import OrderingModels

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pipelines.data.messages import Message

TOOLS = {**BAR, "fulfilments": {"order": {"tool": {"deadline_seconds": 5}}}}


class Caller:
    """Holds a conversation, and keeps what it is told."""

    def __init__(self, form: dict[str, Any] | None = TOOLS) -> None:
        self.session = None if form is None else DialogSession(agent_of(form), asyncio.get_running_loop().time)
        if self.session is not None:
            self.session.begin()
        self.ends = Ends()
        config, workload = ConversationConfig(dialog=self.session), Workload(observer=self.ends)
        self.conversation = Conversation(config, OrderingModels(), None, workload)
        self.messages: list[Message] = []
        self.listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for message in self.conversation.outbox:
            # One by one: what comes is looked at while it comes.
            self.messages.append(message)

    async def type(self, *texts: str) -> None:
        for text in texts:
            await self.conversation.add_text(text)
            await asyncio.sleep(1)

    async def order(self) -> ToolCall:
        await self.type("a latte please", "small", "yes")
        (call,) = self.calls
        return call

    def answer(self, call_id: str, **result: Any) -> None:
        self.conversation.dialog.take(ToolResult(call_id, **result))

    async def end(self) -> None:
        await self.conversation.half_close()
        await self.listening
        await self.conversation.close()

    @property
    def calls(self) -> list[ToolCall]:
        return [message for message in self.messages if isinstance(message, ToolCall)]

    @property
    def said(self) -> list[str]:
        return [message.speech_text for message in self.messages if isinstance(message, Reply)]

    @property
    def notices(self) -> list[str]:
        notices = [message for message in self.messages if isinstance(message, Notice)]
        assert {notice.code for notice in notices} <= {NoticeCode.TOOL_RESULT_IGNORED}
        return [notice.message for notice in notices]


def held(script: Callable[[Caller], Awaitable[None]], form: dict[str, Any] | None = TOOLS) -> Caller:
    async def hold() -> Caller:
        caller = Caller(form)
        await script(caller)
        await caller.end()
        return caller

    return virtual_time.run(hold())


def test_a_result():
    async def script(caller: Caller):
        call = await caller.order()
        assert call.arguments == {"drink": "latte", "size": "small", "count": "1"}
        assert (call.name, call.intent, call.deadline_seconds) == ("order", "order", 5)
        assert call.parameters == {"house": "the bar"}
        caller.answer(call.id, slots={"size": "large"}, say="It comes.", parameters={"house": "Ada's"})
        await asyncio.sleep(0.1)
        assert caller.session is not None
        assert caller.session.state.parameters == {"house": "Ada's"}

    caller = held(script)
    assert caller.said == ["Which size?", "1 small latte?", "", "One moment, please.", "It comes."]
    assert caller.notices == []


def test_a_call_comes_after_the_reply_to_its_turn():
    async def script(caller: Caller):
        call = await caller.order()
        caller.answer(call.id)

    kinds = [type(message) for message in held(script).messages]
    assert kinds == [Reply, Reply, Reply, ToolCall, Prompt, Prompt]


@pytest.mark.parametrize(("say", "said"), [("Sold out.", "Sold out."), ("", "Sorry, that did not work.")])
def test_a_failure(say: str, said: str):
    async def script(caller: Caller):
        caller.answer((await caller.order()).id, failed=True, say=say)

    assert held(script).said[-1] == said


def test_no_result():
    async def script(caller: Caller):
        await caller.order()
        await asyncio.sleep(10)
        await caller.type("a latte please")

    caller = held(script)
    assert caller.said[-2:] == ["Sorry, that did not work.", "Which size?"]


def test_a_result_that_comes_too_late():
    async def script(caller: Caller):
        call = await caller.order()
        await asyncio.sleep(10)
        caller.answer(call.id)
        await caller.type("a latte please")

    caller = held(script)
    assert caller.said[-1] == "Which size?"
    assert caller.notices == ["a tool result came too late: the call was given up"]


def test_a_second_result():
    async def script(caller: Caller):
        call = await caller.order()
        caller.answer(call.id, say="It comes.")
        caller.answer(call.id, say="Twice.")
        await asyncio.sleep(1)
        caller.answer(call.id, say="Thrice.")

    caller = held(script)
    assert caller.said[-1] == "It comes."
    assert caller.notices == ["a tool result came a second time: the first one counts"] * 2


def test_a_result_for_no_call():
    async def script(caller: Caller):
        caller.answer("nonsense")
        await caller.type("a latte please")

    caller = held(script)
    assert caller.notices == ["a tool result names an id that no tool_call has: send the id of a call"]
    assert caller.said == ["Which size?"]


@pytest.mark.parametrize("form", [None, BAR])
def test_a_result_where_no_tools_are(form: dict[str, Any] | None):
    async def script(caller: Caller):
        caller.answer("nonsense")

    assert held(script, form).notices == [
        "a tool result came, but no agent of this conversation asks for tools: leave it out"
    ]


@pytest.mark.parametrize(
    ("result", "notice"),
    [
        ({"slots": {"milk": "oat"}}, "names the slot 'milk': the agent has drink, size, roast, count"),
        ({"parameters": {"tip": "1"}}, "names the parameter 'tip': the agent has house"),
        ({"slots": {"size": "x" * 1_001}}, "has a value of slot 'size' over 1,000 characters: shorten it"),
        ({"say": "x" * 1_001}, "says 1,001 characters: 1,000 are the most"),
    ],
)
def test_a_result_that_does_not_fit_may_be_sent_anew(result: dict[str, Any], notice: str):
    async def script(caller: Caller):
        call = await caller.order()
        caller.answer(call.id, **result)
        caller.answer(call.id, say="It comes.")

    caller = held(script)
    assert caller.notices == [f"a tool result {notice}"]
    assert caller.said[-1] == "It comes."


def test_a_caller_who_has_said_all_is_not_asked():
    async def hold() -> list[Message]:
        caller = Caller()
        for text in ("a latte please", "small", "yes"):
            await caller.conversation.add_text(text)
        before = asyncio.get_running_loop().time()
        await caller.end()
        assert asyncio.get_running_loop().time() - before < 1
        return caller.messages

    messages = virtual_time.run(hold())
    assert not any(isinstance(message, ToolCall) for message in messages)
    assert [message.speech_text for message in messages if isinstance(message, Reply)][-1] == (
        "Sorry, that did not work."
    )


def test_a_stream_that_is_left_gives_its_calls_up():
    async def hold():
        caller = Caller()
        await caller.type("a latte please", "small", "yes")
        before = asyncio.get_running_loop().time()
        await caller.conversation.close()
        assert asyncio.get_running_loop().time() - before < 1
        assert caller.session is not None
        assert caller.session.state.fulfilling == 0
        await caller.listening
        # The session goes on in another stream, and its tools with it.
        again = Conversation(ConversationConfig(dialog=caller.session), OrderingModels(), None)
        caller.session.resume()
        caller.conversation, caller.messages = again, []
        caller.listening = asyncio.create_task(caller._listen())
        await caller.type("a latte please", "small", "yes")
        await caller.end()
        (call,) = caller.calls
        assert call.id == f"{caller.session.id}-2"

    virtual_time.run(hold())


async def test_only_the_last_calls_are_remembered():
    desk = ToolDesk(agent_of(TOOLS))
    told: list[Message] = []
    desk.open(told.append)
    for number in range(MAX_REMEMBERED + 1):
        desk._remember(str(number), "came too late: the call was given up")
    desk.take(ToolResult("0"))
    desk.take(ToolResult("1"))
    notices = [message.message for message in told if isinstance(message, Notice)]
    assert "no tool_call has" in notices[0]
    assert "came too late" in notices[1]


def test_nothing_of_a_result_stands_in_its_repr():
    assert "xyzzy" not in repr(ToolResult("a", {"xyzzy": "xyzzy"}, "xyzzy", parameters={"xyzzy": ""}))


@pytest.mark.parametrize(("failed", "outcome"), [(False, "done"), (True, "failed")])
def test_observers_hear_of_fulfilments(failed: bool, outcome: str):
    heard: list[tuple[str, float, str]] = []

    async def script(caller: Caller):
        call = await caller.order()
        caller.answer(call.id, failed=failed)
        await asyncio.sleep(0.1)
        heard.extend(caller.ends.heard)

    held(script)
    ((name, seconds, told),) = heard
    assert (name, told) == ("order", outcome)
    assert 0.9 < seconds < 1.2
