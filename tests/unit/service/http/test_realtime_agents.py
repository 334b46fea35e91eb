"""Agents over ``/v1/realtime``: they speak by themselves, and their tools are function calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.dialog.sessions import DialogSessions
from service.api.http.openai.realtime.client_requests import tool_result_of
from service.api.http.openai.realtime.items import to_item
from service.sessions.dialogs import Dialogs
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.pipelines.dialog.test_tools import TOOLS
from tests.unit.service.http.realtime import VAD, Realtime, connected
from tests.unit.service.http.running import Openai
from tests.unit.service.test_dialogs import OrderingModels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CALL = [
    "response.created",
    "rate_limits.updated",
    "response.output_item.added",
    "conversation.item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
]


@pytest.fixture
async def bar() -> AsyncIterator[Openai]:
    agents = {"bar": agent_of(TOOLS), "pub": agent_of({**BAR, "name": "pub"})}
    models = OrderingModels(0.001, 0.001, 0.001)
    async with Openai.running(models=models, dialogs=Dialogs(agents, DialogSessions())) as running:
        yield running


async def choose(session: Realtime, agent: str = "bar", modality: str = "text", /, **extension: Any) -> None:
    await session.update(type="realtime", output_modalities=[modality], vivavoce={"agent": agent, **extension})


async def type_in(session: Realtime, text: str) -> dict[str, Any]:
    """Types a turn; returns the item of the reply."""
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    await session.send("conversation.item.create", item=item)
    await session.send("response.create")
    return (await session.until("response.done"))["response"]["output"][0]


def text_of(item: dict[str, Any]) -> str:
    (content,) = item["content"]
    return content.get("text", content.get("transcript"))


async def order(session: Realtime) -> dict[str, Any]:
    """Orders a latte; returns the function call."""
    for text in ("a latte please", "small", "yes"):
        await type_in(session, text)
    return (await session.until("response.done"))["response"]["output"][0]


async def answer(session: Realtime, call_id: str, output: str) -> None:
    item = {"type": "function_call_output", "call_id": call_id, "output": output}
    await session.send("conversation.item.create", item=item)


async def test_a_dialog_and_its_first_words(bar: Openai):
    async with connected(bar) as session:
        await choose(session)
        greeting = (await session.until("conversation.item.done"))["item"]
        assert (greeting["role"], text_of(greeting)) == ("assistant", "Hello.")
        item = await type_in(session, "a latte please")
        assert text_of(item) == "Which size?"
        assert item["vivavoce"]["dialog"]["asked"] == "size"
        assert text_of(await type_in(session, "small")) == "1 small latte?"


async def test_the_first_words_are_spoken_where_replies_are(bar: Openai):
    async with connected(bar) as session:
        await choose(session, "bar", "audio")
        done = await session.until("response.done")
        assert text_of(done["response"]["output"][0]) == "Hello."
        assert "response.output_audio.delta" in session.types()


async def test_a_tool_is_a_function_call(bar: Openai):
    async with connected(bar) as session:
        await choose(session)
        for text in ("a latte please", "small", "yes"):
            await type_in(session, text)
        session.forget()
        done = await session.until("response.done")
        assert session.types() == CALL
        (call,) = done["response"]["output"]
        assert (call["type"], call["name"], call["status"]) == ("function_call", "order", "completed")
        assert json.loads(call["arguments"]) == {"drink": "latte", "size": "small", "count": "1"}
        told = next(event for event in session.heard if event["type"] == "response.function_call_arguments.done")
        assert (told["call_id"], told["arguments"]) == (call["call_id"], call["arguments"])
        assert (told["item_id"], told["name"], told["output_index"]) == (call["id"], "order", 0)
        await answer(session, call["call_id"], json.dumps({"say": "It is number 7.", "slots": {"size": "large"}}))
        # As clients of OpenAI's do; the agent answers without it.
        await session.send("response.create")
        result = (await session.until("response.done"))["response"]["output"][0]
        assert text_of(result) == "It is number 7."
        assert result["vivavoce"]["dialog"]["cause"] == "DIALOG_CAUSE_FULFILMENT"
        assert text_of(await type_in(session, "a latte please")) == "Which size?"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("", "Done."),
        ("Order placed.", "Done."),
        ('{"minutes": 7}', "Done."),
        ('{"say": "It comes."}', "It comes."),
        ('{"error": "no milk"}', "Sorry, that did not work."),
        ('{"failed": true, "say": "No milk."}', "No milk."),
    ],
)
async def test_what_a_function_gives(bar: Openai, output: str, said: str):
    async with connected(bar) as session:
        await choose(session)
        call = await order(session)
        await answer(session, call["call_id"], output)
        result = (await session.until("response.done"))["response"]["output"][0]
        assert text_of(result) == said


async def test_results_that_nobody_waits_for(bar: Openai):
    async with connected(bar) as session:
        await choose(session)
        await answer(session, "nonsense", "{}")
        await session.until("error", code="tool_result_ignored")
        call = await order(session)
        await answer(session, call["call_id"], '{"slots": {"milk": "oat"}}')
        await session.until("error", code="tool_result_ignored")
        await answer(session, call["call_id"], "{}")
        await session.until("response.done")
        await answer(session, call["call_id"], "{}")
        await session.until("error", code="tool_result_ignored")


async def test_a_dialog_goes_on_in_another_session(bar: Openai):
    for text, said in (("a latte please", "Which size?"), ("small", "1 small latte?")):
        async with connected(bar) as session:
            await choose(session, "pub", session={"id": "kiosk 7", "parameters": {"house": "Ada's"}})
            item = await type_in(session, text)
            assert text_of(item) == said
            assert item["vivavoce"]["dialog"]["parameters"] == {"house": "Ada's"}


async def test_another_agent_takes_over(bar: Openai):
    async with connected(bar) as session:
        await choose(session)
        await type_in(session, "a latte please")
        await choose(session, "pub")
        item = await type_in(session, "small")
        assert item["vivavoce"]["dialog"].get("intent", "") == ""


async def test_a_spoken_turn(bar: Openai):
    async with connected(bar) as session:
        await session.update(audio={"input": {"turn_detection": VAD}}, vivavoce={"agent": "bar"})
        await session.until("response.done")
        bar.models.words = "a latte please"
        await session.say(1.0)
        await session.say(1.0, 0.0)
        done = await session.until("response.done")
        assert text_of(done["response"]["output"][0]) == "Which size?"


async def test_agents_that_there_are_not(bar: Openai):
    async with connected(bar) as session:
        await session.send("session.update", session={"vivavoce": {"agent": "café"}})
        error = (await session.until("error", code="unknown_agent"))["error"]
        assert "choose bar, pub" in error["message"]
        await session.send("session.update", session={"type": "transcription", "vivavoce": {"agent": "bar"}})
        await session.until("error", code="unknown_agent")


async def test_the_real_client_runs_a_tool(bar: Openai):
    async with bar.client.realtime.connect(model="vivavoce") as live:
        session: dict[str, Any] = {"type": "realtime", "output_modalities": ["text"], "vivavoce": {"agent": "bar"}}
        await live.session.update(session=session)  # type: ignore[arg-type]  # our own key
        said = []
        turns = ["a latte please", "small", "yes"]
        async for event in live:
            if event.type == "session.updated" or (event.type == "response.done" and turns):
                content: Any = [{"type": "input_text", "text": turns.pop(0)}]
                await live.conversation.item.create(item={"type": "message", "role": "user", "content": content})
                await live.response.create()
            elif event.type == "response.output_text.done":
                said.append(event.text)
                if event.text == "It comes.":
                    break
            elif event.type == "response.function_call_arguments.done":
                assert json.loads(event.arguments) == {"drink": "latte", "size": "small", "count": "1"}
                output = json.dumps({"say": "It comes."})
                item: Any = {"type": "function_call_output", "call_id": event.call_id, "output": output}
                await live.conversation.item.create(item=item)
    assert said == ["Which size?", "1 small latte?", "It comes."]


def test_items_of_other_kinds_are_no_results():
    assert tool_result_of(to_item({"type": "message", "role": "user", "content": "hello"}, "mine")) is None
    call = {"type": "function_call", "call_id": "a", "name": "order", "arguments": "{}"}
    assert tool_result_of(to_item(call, "mine")) is None
    result = tool_result_of(
        to_item({"type": "function_call_output", "output": '{"slots": {"size": 2, "x": [1]}}'}, "mine")
    )
    assert result is not None
    assert (result.id, result.slots) == ("", {"size": "2"})
    nested = tool_result_of(to_item({"type": "function_call_output", "call_id": "a", "output": "[" * 10_000}, "mine"))
    assert nested is not None
    assert not nested.failed
