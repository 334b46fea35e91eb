"""Bounded client of OpenAI's ``/chat/completions``, streamed."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from service.fulfilment.http_calls import Call, CallFailedError, pieces_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx

    from service.fulfilment.http_calls import HttpCalls

MAX_STREAM_BYTES = 1024 * 1024
"""Of one answer; a token takes some hundred bytes."""
MAX_LINE_BYTES = 256 * 1024
MAX_LINES = 20_000
_LINES_AT_ONCE = 64
SPOKEN = "Your words are spoken aloud on a telephone or a speaker: plain sentences, no lists, no Markdown, no emoji."
"""Instruction of every language model that talks."""
MAX_PASSAGE_CHARACTERS = 4_000
"""Of what was found in documents, as a model is shown it."""
_PATH = "/chat/completions"
_DONE = "[DONE]"


class FunctionDelta(msgspec.Struct):
    """Piece of the call of a function."""

    name: str | None = None
    arguments: str | None = None


class CallDelta(msgspec.Struct):
    """Piece of the call of a tool; pieces of one call have one index."""

    index: int = 0
    id: str | None = None
    function: FunctionDelta = msgspec.field(default_factory=FunctionDelta)


class _Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[CallDelta] | None = None


class Choice(msgspec.Struct):
    """Piece of an answer.

    Attributes:
        delta: words and calls.
        finish_reason: why the answer ends; None: it goes on.
    """

    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[Choice] = []
    error: Any = None


@dataclass(frozen=True, slots=True)
class ChatCompletions:
    """A server of chat completions.

    Attributes:
        calls: makes requests.
        url: of the API, such as ``http://localhost:11434/v1``.
        key: API key; "": none is sent.
    """

    calls: HttpCalls
    url: str
    key: str = field(default="", repr=False)

    async def stream(self, request: dict[str, object], deadline_seconds: float) -> AsyncGenerator[Choice, None]:
        """Yield the pieces of an answer as they come.

        Args:
            request: as the API has it.
            deadline_seconds: time for the whole of the answer.

        Raises:
            CallFailedError: the server does not answer as it should, or its answer breaks off.
        """
        url = self.url.rstrip("/")
        headers = {"Accept": "text/event-stream"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        body = msgspec.json.encode({**request, "stream": True})
        call = Call("POST", url if url.endswith(_PATH) else url + _PATH, headers, body, deadline_seconds, 1)
        async with self.calls.answering(call) as response, contextlib.aclosing(_chunks(response)) as chunks:
            async for chunk in chunks:
                for choice in chunk.choices[:1]:
                    yield choice


async def _chunks(response: httpx.Response) -> AsyncGenerator[_Chunk, None]:
    """Yield the ``data`` of server-sent events."""
    if not str(response.headers.get("content-type", "")).lower().startswith("text/event-stream"):
        raise CallFailedError("the answer is no event stream: the server must know `stream`")
    is_over = False
    async with contextlib.aclosing(_lines(response)) as lines:
        async for line in lines:
            name, _, value = line.partition(":")
            data = value.strip()
            if name != "data" or not data:
                continue
            if data == _DONE:
                return
            chunk = _decoded(data)
            is_over = is_over or any(choice.finish_reason for choice in chunk.choices)
            yield chunk
    if not is_over:
        raise CallFailedError("the answer broke off before its end")


async def _lines(response: httpx.Response) -> AsyncGenerator[str, None]:
    rest = bytearray()
    count = 0
    async with contextlib.aclosing(pieces_of(response, MAX_STREAM_BYTES)) as pieces:
        async for piece in pieces:
            rest += piece
            if len(rest) > MAX_LINE_BYTES + len(piece):
                raise CallFailedError(f"a line of the answer is larger than {MAX_LINE_BYTES // 1024} KiB")
            if b"\n" not in piece:
                continue
            *lines, last = bytes(rest).split(b"\n")
            rest = bytearray(last)
            for line in lines:
                count += 1
                if count > MAX_LINES:
                    raise CallFailedError(f"the answer has over {MAX_LINES:,} lines")
                if count % _LINES_AT_ONCE == 0:
                    await asyncio.sleep(0)
                yield line.rstrip(b"\r").decode("utf-8", "replace")


def _decoded(data: str) -> _Chunk:
    try:
        chunk = msgspec.json.decode(data, type=_Chunk)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CallFailedError("the answer is no stream of chat completions") from error
    if chunk.error is not None:
        raise CallFailedError("the language model reports an error")
    return chunk
