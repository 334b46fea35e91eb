"""Connection to an MCP server, kept for further calls: over HTTP, or a program."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from mcp.types import CallToolResult

IDLE_SECONDS = 300.0
"""Time without a call after which a connection is closed, and its program ended."""
MAX_ANSWER_BYTES = 256 * 1024
"""Of one HTTP answer of a server."""

# They log what servers send, and URLs.
for _name in ("mcp", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class McpConnection:
    """A connection, opened at once by a task of its own.

    The task alone enters and leaves the SDK's client, whose scopes belong to one task. It outlasts the call that opened
    it, so that no reply waits for a program that does not end.

    Args:
        server: URL, or the program's command line.
        headers: further headers over HTTP.
        environment: variables of the program, beside those that every program gets.
    """

    def __init__(
        self, server: str | tuple[str, ...], headers: Mapping[str, str], environment: Mapping[str, str]
    ) -> None:
        self._server, self._headers, self._environment = server, headers, environment
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._stopped = asyncio.Event()
        self._calls = 0
        self.task = asyncio.create_task(self._run(), name="mcp")

    @property
    def is_usable(self) -> bool:
        """True while it takes further calls."""
        return not (self._stopped.is_set() or self.task.done())

    def stop(self) -> None:
        """Close it; calls under way fail."""
        self._stopped.set()
        if not self._client.done():
            self.task.cancel()

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool; whatever the SDK raises goes on.

        Raises:
            ConnectionError: the connection has ended.
        """
        self._calls += 1
        calling = asyncio.create_task(self._call(tool, arguments))
        try:
            await asyncio.wait((calling, self.task), return_when=asyncio.FIRST_COMPLETED)
            if calling.done():
                return calling.result()
            if not self.task.cancelled() and (error := self.task.exception()) is not None:
                raise error
            raise ConnectionError("the connection has ended")
        finally:
            self._calls -= 1
            calling.cancel()

    async def _call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        client = await asyncio.shield(self._client)
        return await client.call_tool(tool, arguments)

    async def _run(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            self._client.set_result(await stack.enter_async_context(Client(await self._transport(stack))))
            while not self._stopped.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), IDLE_SECONDS)
                if not self._calls:
                    self._stopped.set()

    async def _transport(self, stack: contextlib.AsyncExitStack) -> Any:  # noqa: ANN401 - of the SDK
        if not isinstance(self._server, str):
            program, *rest = self._server
            return StdioServerParameters(command=program, args=rest, env=dict(self._environment))
        transport = _Bounded(httpx2.AsyncHTTPTransport())
        # The deadline of a call bounds all.
        http = httpx2.AsyncClient(transport=transport, headers=dict(self._headers), timeout=None)
        await stack.enter_async_context(http)
        return streamable_http_client(self._server, http_client=http, max_sse_event_size=MAX_ANSWER_BYTES)


class _Bounded(httpx2.AsyncBaseTransport):
    """Transport that reads no answer without end."""

    def __init__(self, transport: httpx2.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, whose answer is not to be compressed."""
        request.headers["Accept-Encoding"] = "identity"
        response = await self._transport.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.ReadError("the answer is compressed, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise httpx2.ReadError(f"the answer is larger than {MAX_ANSWER_BYTES // 1024} KiB")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
