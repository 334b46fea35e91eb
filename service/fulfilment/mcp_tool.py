"""Tools of MCP servers: a fulfilment as the call of a tool."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp.types import CONNECTION_CLOSED, TextContent

from pipelines.data.dialog.events import Fulfilled
from pipelines.dialog.agent.templates import substituted
from service.fulfilment.http_calls import CallFailedError
from service.fulfilment.mcp_connection import McpConnection
from service.fulfilment.spoken_sentences import SpokenSentences

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from mcp.types import CallToolResult

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.fulfilments import McpTool
    from service.fulfilment.http_calls import HttpCalls

MAX_TEXT_CHARACTERS = 1_000
"""Of a result that a slot takes."""
MAX_BLOCKS = 20
"""Blocks of text that are read of one result."""


class McpFulfiller:
    """Calls a tool; see ``pipelines.dialog.fulfilment``. Nothing is asked twice.

    Args:
        agent: whose fulfilments are carried out.
        form: the tool.
        calls: leaves servers alone that fail, and closes connections at the end.
        server: URL, or the program's command line.
        headers: further headers over HTTP.
        environment: variables of the program, beside those that every program gets.
        clock: time in seconds, which never goes back.
    """

    def __init__(
        self,
        agent: Agent,
        form: McpTool,
        calls: HttpCalls,
        server: str | tuple[str, ...],
        headers: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._agent, self._form, self._calls, self._clock = agent, form, calls, clock
        self._server, self._headers, self._environment = server, headers or {}, environment or {}
        self._connection: McpConnection | None = None

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Fulfilled]:  # noqa: ARG002 - of the port
        """Call the tool with the slots.

        Raises:
            CallFailedError: the server does not answer as it should, in time.
        """
        origin, breaker = f"mcp {self._server}", self._calls.breaker
        if not breaker.admits(origin):
            raise CallFailedError("the MCP server has failed several times in a row and is left alone for some seconds")
        connection = self._connected()
        seconds = self._form.deadline_seconds
        try:
            async with asyncio.timeout(seconds):
                answer = await connection.call(self._form.tool, _arguments(self._form, task))
        except MCPError as error:
            if error.error.code == CONNECTION_CLOSED:
                raise self._failed(connection, origin, "breaks off") from None
            breaker.succeeded(origin)
            raise CallFailedError(f"the MCP server refuses the call (code {error.error.code})") from None
        except TimeoutError:
            raise self._failed(connection, origin, f"gives no whole answer within {seconds:g} s") from None
        except Exception as error:  # noqa: BLE001 - the SDK raises errors of many packages, with what servers sent
            raise self._failed(connection, origin, f"does not answer as it should ({_kind(error)})") from None
        breaker.succeeded(origin)
        yield self._event(task, answer)

    def _connected(self) -> McpConnection:
        if self._connection is None or not self._connection.is_usable:
            self._connection = McpConnection(self._server, self._headers, self._environment)
            self._calls.keep(self._connection.task, self._connection.stop)
        return self._connection

    def _failed(self, connection: McpConnection, origin: str, problem: str) -> CallFailedError:
        self._calls.breaker.failed(origin)
        connection.stop()
        return CallFailedError(f"the MCP server {problem}")

    def _event(self, task: Fulfil, answer: CallToolResult) -> Fulfilled:
        if answer.is_error:
            raise CallFailedError(f"the tool {self._form.tool!r} reports an error")
        known = self._agent.slots_of(task.intent)
        structured = answer.structured_content if isinstance(answer.structured_content, dict) else {}
        slots = {
            name: _as_text(value)
            for name, value in structured.items()
            if name in known and isinstance(value, str | int | float) and not isinstance(value, bool)
        }
        if self._form.into is not None:
            blocks = [block.text for block in answer.content[:MAX_BLOCKS] if isinstance(block, TextContent)]
            text = _spoken(" ".join(blocks))
            if not text:
                raise CallFailedError(f"the tool {self._form.tool!r} answers without text, which `into` waits for")
            slots[self._form.into] = text
        return Fulfilled(self._clock(), task.number, slots)


def _arguments(form: McpTool, task: Fulfil) -> dict[str, Any]:
    if not form.arguments:
        return dict(task.slots)
    values = {**task.parameters, **task.slots}
    given = {
        name: substituted(datum, values) if isinstance(datum, str) else datum for name, datum in form.arguments.items()
    }
    return {name: datum for name, datum in given.items() if datum != ""}


def _as_text(value: object) -> str:
    return (format(value, ".15g") if isinstance(value, float) else str(value))[:MAX_TEXT_CHARACTERS]


def _spoken(text: str) -> str:
    """Return the first whole sentences of a text, without what cannot be spoken."""
    gathered, said = SpokenSentences(), ""
    for sentence in (*gathered.add(text[: 4 * MAX_TEXT_CHARACTERS]), *gathered.rest()):
        if len(said) + len(sentence) >= MAX_TEXT_CHARACTERS:
            break
        said += f" {sentence}"
    return said.strip()


def _kind(error: BaseException | None) -> str:
    """Return the kind of an error, whose text may hold what the server sent."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return type(error).__name__ if error is not None else "no result"
