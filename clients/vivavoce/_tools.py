"""Tools that an agent asks for and the caller's program runs."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from vivavoce._refusing import refusing
from vivavoce.v1 import conversation_pb2 as pb

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The agent asks for a tool, once; the dialog goes on with its result."""

    id: str
    """Names the call among all calls of all dialogs; a key against running it twice."""
    name: str
    """Name of the fulfilment, from the agent."""
    intent: str
    """The intent that is fulfilled."""
    arguments: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The slots of the intent, with their values."""
    deadline_seconds: float = 0.0
    """Time within which the result must come; then the tool counts as failed."""
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The session parameters."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a line of the command's `--json` has it."""
        return {
            "event": "tool_call",
            "id": self.id,
            "name": self.name,
            "intent": self.intent,
            "arguments": dict(self.arguments),
            "deadline_s": round(self.deadline_seconds, 3),
            "parameters": dict(self.parameters),
        }


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a tool."""

    slots: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Slots of the intent that get another value."""
    say: str = ""
    """What the agent says in place of its own words, at most 1,000 code points; "": its own words."""
    failed: bool = False
    """Whether it could not be done."""
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Session parameters that change."""
    ask_again: str = ""
    """With `failed`: slot that the agent asks for anew; all others stay. "": the intent ends."""
    offers: Sequence[str] = ()
    """Values that this slot may get, which the agent offers: at most 10."""


Tool: TypeAlias = Callable[[ToolCall], Awaitable["ToolResult | None"]] | Callable[[ToolCall], "ToolResult | None"]
"""Runs a tool: a coroutine function, or a plain one, which has a thread. None says that it is done."""


def tool_call_of(call: pb.ToolCall) -> ToolCall:
    """Read a call from its message."""
    seconds = call.deadline.ToNanoseconds() / 1_000_000_000
    return ToolCall(call.id, call.name, call.intent, dict(call.arguments), seconds, dict(call.parameters))


def tool_result_request(call_id: str, result: ToolResult) -> pb.ConverseRequest:
    """Make the message with the result of a tool.

    Raises:
        InvalidRequest: The message cannot hold a value.
        TypeError: A value is of another type.
    """
    if not isinstance(result, ToolResult):
        raise TypeError(f"a result is `vivavoce.ToolResult(...)`, not {type(result).__name__}.")
    with refusing("tool_result"):
        return pb.ConverseRequest(
            tool_result=pb.ToolResult(
                id=call_id,
                slots=result.slots,
                say=result.say,
                failed=result.failed,
                parameters=result.parameters,
                ask_again=result.ask_again,
                offers=result.offers,
            )
        )


def check_tools(tools: Mapping[str, Tool] | None) -> dict[str, Tool]:
    """Return tools by their names.

    Raises:
        TypeError: One of them is no function.
    """
    for name, tool in (tools or {}).items():
        if not callable(tool):
            raise TypeError(f"the tool {name!r} is a function of a `vivavoce.ToolCall`, not {type(tool).__name__}.")
    return dict(tools or {})


class ToolRunner:
    """Runner of a conversation's tools, which sends their results.

    Args:
        tools: By name; calls of others are for the caller.
    """

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools
        self.running: set[asyncio.Task[None]] = set()

    def note(self, event: object, send: Callable[[str, ToolResult], None]) -> None:
        """Start the tool that an event asks for.

        Args:
            event: What the conversation tells.
            send: Sends the result. It is not kept: a conversation that refers to itself would not close its connection.
        """
        if isinstance(event, ToolCall) and event.name in self._tools:
            task = asyncio.create_task(_run(self._tools[event.name], event, send))
            self.running.add(task)
            task.add_done_callback(self.running.discard)


async def _run(tool: Tool, call: ToolCall, send: Callable[[str, ToolResult], None]) -> None:
    try:
        told = tool(call) if inspect.iscoroutinefunction(tool) else await asyncio.to_thread(tool, call)
        result = await told if inspect.isawaitable(told) else told
        send(call.id, ToolResult() if result is None else result)
    except Exception:
        logger.exception("The tool %s failed.", call.name)
        send(call.id, ToolResult(failed=True))
