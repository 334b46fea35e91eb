"""Tools in the SDK: calls as events, results as messages, and functions that run them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import vivavoce
from vivavoce._responses import event_from_response
from vivavoce._tools import ToolRunner, check_tools, tool_result_request
from vivavoce.testing._messages import response_of
from vivavoce.v1 import conversation_pb2 as pb

CALL = vivavoce.ToolCall("a-1", "order", "order", {"size": "large"}, 30.0, {"house": "the bar"})


def test_a_call_is_read_as_the_fake_writes_it():
    assert event_from_response(response_of(CALL)) == CALL


def test_a_result():
    result = vivavoce.ToolResult({"size": "small"}, "It comes.", failed=True, parameters={"house": "Ada's"})
    assert tool_result_request("a-1", result) == pb.ConverseRequest(
        tool_result=pb.ToolResult(
            id="a-1", slots={"size": "small"}, say="It comes.", failed=True, parameters={"house": "Ada's"}
        )
    )


def test_a_result_that_cannot_be_sent():
    with pytest.raises(TypeError, match=r"a result is `vivavoce\.ToolResult\(\.\.\.\)`, not dict"):
        tool_result_request("a-1", {"say": "It comes."})
    with pytest.raises(vivavoce.InvalidRequest) as caught:
        tool_result_request("a-1", vivavoce.ToolResult(say="\ud800"))
    assert caught.value.field == "tool_result"


def test_what_is_no_tool():
    with pytest.raises(TypeError, match=r"the tool 'order' is a function of a `vivavoce\.ToolCall`, not str"):
        check_tools({"order": "espresso"})
    assert check_tools(None) == {}


async def run(tool: Any, *events: Any) -> list[tuple[str, vivavoce.ToolResult]]:
    sent: list[tuple[str, vivavoce.ToolResult]] = []
    runner = ToolRunner({"order": tool})
    for event in events or (CALL,):
        runner.note(event, lambda call_id, result: sent.append((call_id, result)))
    await asyncio.gather(*runner.running)
    return sent


async def test_a_coroutine_function_runs_a_tool():
    async def order(call: vivavoce.ToolCall) -> vivavoce.ToolResult:
        return vivavoce.ToolResult(say=f"A {call.arguments['size']} one.")

    assert await run(order) == [("a-1", vivavoce.ToolResult(say="A large one."))]


async def test_a_plain_function_has_a_thread():
    threads = []

    def order(call: vivavoce.ToolCall) -> None:
        threads.append(threading.current_thread())

    assert await run(order) == [("a-1", vivavoce.ToolResult())]
    assert threads != [threading.current_thread()]


async def test_a_callable_object_may_be_asynchronous():
    class Order:
        async def __call__(self, call: vivavoce.ToolCall) -> vivavoce.ToolResult:
            return vivavoce.ToolResult(say=call.id)

    assert await run(Order()) == [("a-1", vivavoce.ToolResult(say="a-1"))]


async def test_a_tool_that_raises_has_failed(caplog: pytest.LogCaptureFixture):
    async def order(call: vivavoce.ToolCall) -> None:
        raise ValueError("no milk")

    assert await run(order) == [("a-1", vivavoce.ToolResult(failed=True))]
    assert "The tool order failed." in caplog.text


async def test_a_tool_that_returns_something_else_has_failed():
    async def order(call: vivavoce.ToolCall) -> Any:
        return "done"

    sent: list[vivavoce.ToolResult] = []

    def send(call_id: str, result: vivavoce.ToolResult) -> None:
        tool_result_request(call_id, result)
        sent.append(result)

    runner = ToolRunner({"order": order})
    runner.note(CALL, send)
    await asyncio.gather(*runner.running)
    assert sent == [vivavoce.ToolResult(failed=True)]


async def test_other_events_and_other_tools_are_left_to_the_caller():
    async def order(call: vivavoce.ToolCall) -> None:
        raise AssertionError(call)

    other = vivavoce.ToolCall("a-2", "booking", "book")
    assert await run(order, vivavoce.Started("x"), other) == []
