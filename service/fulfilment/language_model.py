"""Language model: OpenAI's ``/chat/completions``, spoken as it streams."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.dialog.events import Fulfilled, Progressed
from service.fulfilment.http_calls import Call, CallFailedError, pieces_of
from service.fulfilment.spoken_sentences import MAX_SENTENCE_CHARACTERS, SpokenSentences

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    import httpx

    from pipelines.dialog.actions import Fulfil
    from pipelines.dialog.agent.fulfilments import LanguageModel
    from service.fulfilment.http_calls import HttpCalls

MAX_STREAM_BYTES = 1024 * 1024
"""Of one answer; a token takes some hundred bytes."""
MAX_LINE_BYTES = 256 * 1024
MAX_LINES = 20_000
_LINES_AT_ONCE = 64
MAX_PASSAGE_CHARACTERS = 4_000
_UNSPOKEN_SENTENCES = 8
"""Room in an answer for Markdown and what else is not spoken."""
_PATH = "/chat/completions"
_DONE = "[DONE]"
_SPOKEN = "Your words are spoken aloud on a telephone or a speaker: plain sentences, no lists, no Markdown, no emoji."


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    error: Any = None


@dataclass(frozen=True, slots=True)
class LanguageModelFulfiller:
    """Asks a language model; see ``pipelines.dialog.fulfilment``.

    Attributes:
        form: what it is asked for.
        calls: makes requests.
        url: of the API, such as ``http://localhost:11434/v1``.
        key: API key; "": none is sent.
        clock: time in seconds, which never goes back.
    """

    form: LanguageModel
    calls: HttpCalls
    url: str
    key: str = field(default="", repr=False)
    clock: Callable[[], float] = time.monotonic

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Progressed | Fulfilled]:  # noqa: ARG002 - of the port
        """Say the sentences of the model one by one.

        Args:
            task: what is to be done, with what was said last and what was found in documents.
            session: the dialog's name among all dialogs, which the model is not told.

        Raises:
            CallFailedError: the model says nothing, or its answer breaks off.
        """
        said = 0
        async with contextlib.aclosing(self._sentences(task)) as sentences:
            async for sentence in sentences:
                said += 1
                yield Progressed(self.clock(), task.number, sentence)
                if said == self.form.max_sentences:
                    break
        if not said:
            raise CallFailedError("the language model says nothing")
        yield Fulfilled(self.clock(), task.number)

    async def _sentences(self, task: Fulfil) -> AsyncGenerator[str, None]:
        url = self.url.rstrip("/")
        headers = {"Accept": "text/event-stream"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        body = msgspec.json.encode(_request(self.form, task))
        call = Call("POST", url if url.endswith(_PATH) else url + _PATH, headers, body, self.form.deadline_seconds, 1)
        gathered = SpokenSentences()
        finished, left = "", (self.form.max_sentences + _UNSPOKEN_SENTENCES) * MAX_SENTENCE_CHARACTERS
        async with self.calls.answering(call) as response, contextlib.aclosing(_chunks(response)) as chunks:
            async for chunk in chunks:
                for choice in chunk.choices[:1]:
                    finished = choice.finish_reason or finished
                    content = (choice.delta.content or "")[:left]
                    left -= len(content)
                    for sentence in gathered.add(content):
                        yield sentence
                        await asyncio.sleep(0)
                if not left:
                    # Rows of marks are no sentences, and would go on until the deadline.
                    return
        if finished != "length":
            for sentence in gathered.rest():
                yield sentence


def _request(form: LanguageModel, task: Fulfil) -> dict[str, object]:
    """Return the request: instructions, session, answer and last turns."""
    known = [f"Wish of the caller: {task.intent}"]
    known += [f"{name}: {value}" for name, value in {**task.parameters, **task.slots}.items() if value]
    system = f"{form.instructions}\n\n{_SPOKEN}\n\n" + "\n".join(known)
    if task.passage:
        system += f"\n\nFound in the documents:\n{task.passage[:MAX_PASSAGE_CHARACTERS]}"
    messages = [{"role": "system", "content": system}]
    lines = task.lines
    if not lines or not lines[-1].is_caller:
        # Keys and confirmations have no words of their own; models want to be asked.
        messages.append({"role": "user", "content": "; ".join(known)})
    else:
        shown = lines[-(2 * form.turns + 1) :]
        messages += [{"role": "user" if line.is_caller else "assistant", "content": line.text} for line in shown]
    request: dict[str, object] = {"model": form.model, "messages": messages, "stream": True}
    return request if form.temperature is None else {**request, "temperature": form.temperature}


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
