"""Language models over a real socket: what they are asked, how their sentences come, and streams that break."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, Literal

import pytest
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta

from pipelines.data.dialog.actions import Fulfil
from pipelines.data.dialog.events import Fulfilled, Progressed
from pipelines.data.dialog.state import Line
from pipelines.dialog.agent.fulfilments import LanguageModel
from service.fulfilment.http_calls import CallFailedError, HttpCalls
from service.fulfilment.language_model import LanguageModelFulfiller
from service.fulfilment.spoken_sentences import MAX_SENTENCE_CHARACTERS, SpokenSentences
from tests.unit.service.fulfilment.server import Behaviour, Server, answers, drips, hangs, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.service.fulfilment.server import Request

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
TASK = Fulfil(4, "talk", "chat", {"topic": "bees"}, parameters={"name": "Ada", "empty": ""})


@pytest.fixture
async def calls() -> AsyncIterator[HttpCalls]:
    calls = HttpCalls()
    yield calls
    await calls.close()


def chunk(content: str | None = None, finish: str | None = None) -> bytes:
    delta = {} if content is None else {"content": content}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    said = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": [choice]}
    return f"data: {json.dumps(said)}\n\n".encode()


def streams(*pieces: bytes, done: bool = True, pause: float = 0.0) -> Behaviour:
    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for piece in (*pieces, *((chunk(finish="stop"), b"data: [DONE]\n\n") if done else ())):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        writer.close()

    return stream


async def outcome(calls: HttpCalls, server: Server, task: Fulfil = TASK, key: str = "", **form: Any) -> list[Any]:
    made = LanguageModel.model_validate({"url": "unused", "model": "small", "deadline_seconds": 1, **form})
    model = LanguageModelFulfiller(made, calls, f"{server.url}/v1", key, lambda: 7.0)
    return [event async for event in model.carry_out(task, "session")]


def said(events: list[Any]) -> list[str]:
    assert events[-1] == Fulfilled(7.0, 4)
    assert all(isinstance(event, Progressed) and event.number == 4 for event in events[:-1])
    return [event.say for event in events[:-1]]


async def test_sentences_come_one_by_one(calls: HttpCalls):
    pieces = ["Be", "es dance. ", "They", " show the way! Dr. Frisch", " found that", " out"]
    async with serving(streams(*map(chunk, pieces))) as server:
        events = await outcome(calls, server)
    assert said(events) == ["Bees dance.", "They show the way!", "Dr. Frisch found that out"]


async def test_a_sentence_is_said_while_the_next_one_is_written(calls: HttpCalls):
    written = asyncio.Event()

    async def stream(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk("Bees dance. They"))
        await writer.drain()
        await written.wait()
        writer.write(chunk(" hum.") + b"data: [DONE]\n\n")

    async with serving(stream) as server:
        model = LanguageModelFulfiller(LanguageModel(url="unused", model="small"), calls, server.url, "", lambda: 7.0)
        events = model.carry_out(TASK, "session")
        assert await anext(events) == Progressed(7.0, 4, "Bees dance.")
        written.set()
        assert [event async for event in events] == [Progressed(7.0, 4, "They hum."), Fulfilled(7.0, 4)]


async def test_what_is_asked(calls: HttpCalls):
    lines = (Line("hello", True), Line("Hi.", False), Line("tell me about bees", True))
    task = Fulfil(4, "talk", "chat", {"topic": "bees"}, parameters={"name": "Ada"}, lines=lines, passage="Bees dance.")
    async with serving(streams(chunk("Yes."))) as server:
        await outcome(calls, server, task, key="hush", instructions="Be a bee keeper.", temperature=0.5)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer hush"
    asked = request.json
    assert (asked["model"], asked["stream"], asked["temperature"]) == ("small", True, 0.5)
    system, *turns = asked["messages"]
    assert turns == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "tell me about bees"},
    ]
    assert system["role"] == "system"
    assert system["content"].startswith("Be a bee keeper.\n\nYour words are spoken aloud")
    assert "Wish of the caller: chat\nname: Ada\ntopic: bees" in system["content"]
    assert system["content"].endswith("Found in the documents:\nBees dance.")


async def test_only_the_last_turns_are_shown(calls: HttpCalls):
    lines = tuple(Line(str(number), number % 2 == 0) for number in range(9))
    task = Fulfil(4, "talk", "chat", {}, lines=lines)
    async with serving(streams(chunk("Yes."))) as server:
        await outcome(calls, server, task, turns=1)
        await outcome(calls, server, task, turns=0)
    shown = [[message["content"] for message in request.json["messages"][1:]] for request in server.requests]
    assert shown == [["6", "7", "8"], ["8"]]


async def test_without_words_of_the_caller_the_wish_is_told(calls: HttpCalls):
    async with serving(streams(chunk("Yes."))) as server:
        await outcome(calls, server)
    assert server.requests[0].json["messages"][1:] == [
        {"role": "user", "content": "Wish of the caller: chat; name: Ada; topic: bees"}
    ]
    assert "authorization" not in server.requests[0].headers
    assert "temperature" not in server.requests[0].json


async def test_markdown_and_emoji_are_not_said(calls: HttpCalls):
    text = "**Bees** dance \N{HONEYBEE}. See [this](https://x.y/z).\n\n- They `hum`.\n```\n"
    async with serving(streams(*(chunk(letter) for letter in text))) as server:
        assert said(await outcome(calls, server)) == ["Bees dance.", "See this.", "They hum."]


async def test_it_stops_after_so_many_sentences(calls: HttpCalls):
    async with serving(streams(*(chunk(f"Sentence {number}. ") for number in range(100)), pause=0.001)) as server:
        assert said(await outcome(calls, server, max_sentences=2)) == ["Sentence 0.", "Sentence 1."]


async def test_a_sentence_that_was_cut_is_not_said(calls: HttpCalls):
    async with serving(streams(chunk("Bees dance. They"), chunk(finish="length"), done=False)) as server:
        assert said(await outcome(calls, server)) == ["Bees dance."]


async def test_chunks_as_openais_own_types_write_them(calls: HttpCalls):
    def written(delta: ChoiceDelta, finish: Literal["stop"] | None = None) -> bytes:
        choice = Choice(delta=delta, index=0, finish_reason=finish)
        made = ChatCompletionChunk(
            id="c", choices=[choice], created=1, model="small", object="chat.completion.chunk", system_fingerprint="f"
        )
        return f"data: {made.model_dump_json()}\n\n".encode()

    pieces = [ChoiceDelta(role="assistant", content=""), ChoiceDelta(content="Bees dance."), ChoiceDelta(refusal=None)]
    async with serving(streams(*map(written, pieces), written(ChoiceDelta(), "stop"))) as server:
        assert said(await outcome(calls, server)) == ["Bees dance."]


async def test_lines_of_other_kinds_are_passed_over(calls: HttpCalls):
    noise = b": keep-alive\r\n\r\nevent: message\r\nid: 1\r\ndata:\r\n\r\ndata: {}\r\n\r\n"
    usage = b'data: {"choices": [], "usage": {"total_tokens": 3}}\n\n'
    async with serving(streams(noise, chunk(""), chunk("Bees dance."), usage)) as server:
        assert said(await outcome(calls, server)) == ["Bees dance."]


async def test_pieces_may_end_anywhere(calls: HttpCalls):
    whole = chunk("Bienen tänzeln.") + chunk(" Café.")
    async with serving(streams(*(whole[at : at + 1] for at in range(len(whole))))) as server:
        assert said(await outcome(calls, server)) == ["Bienen tanzeln.", "Cafe."]


@pytest.mark.parametrize(
    ("behaviour", "problem", "before"),
    [
        (streams(chunk("Bees dance. They"), done=False), "broke off before its end", ["Bees dance."]),
        (streams(done=True), "says nothing", []),
        (streams(chunk("\N{HONEYBEE} ")), "says nothing", []),
        (streams(b"data: {\n\n"), "is no stream of chat completions", []),
        (streams(b'data: {"choices": 7}\n\n'), "is no stream of chat completions", []),
        (streams(b'data: {"error": {"message": "no such model"}}\n\n'), "reports an error", []),
        (streams(*[b"data: " + b"x" * 200_000 + b"\n"] * 6), "no stream of chat completions", []),
        (streams(*[b": " + b"x" * 200_000 + b"\n"] * 6), "larger than 1024 KiB", []),
        (answers({"choices": [{"message": {"content": "Bees."}}]}), "no event stream", []),
        (answers({"error": "no"}, status=401), "status 401", []),
        (hangs, "no whole answer came within 0.3 s", []),
        (drips, "no event stream", []),
        (streams(chunk("Bees dance. They"), pause=60), "no whole answer came within 0.3 s", ["Bees dance."]),
    ],
)
async def test_a_stream_that_breaks(calls: HttpCalls, behaviour: Behaviour, problem: str, before: list[str]):
    events: list[Any] = []
    form = LanguageModel(url="unused", model="small", deadline_seconds=0.3)
    async with serving(behaviour) as server:
        model = LanguageModelFulfiller(form, calls, server.url, "", lambda: 7.0)
        with pytest.raises(CallFailedError, match=problem):
            async for event in model.carry_out(TASK, "session"):
                events.append(event)  # noqa: PERF401 - those before the error
    assert [event.say for event in events] == before


def test_long_sentences_are_cut_between_words():
    gathered = SpokenSentences()
    pieces = list(gathered.add("word " * 300)) + list(gathered.rest())
    assert " ".join(pieces) == " ".join(["word"] * 300)
    assert max(map(len, pieces)) <= MAX_SENTENCE_CHARACTERS
    assert all(map(len, SpokenSentences().add("x" * 2_000)))


def test_a_key_stands_in_no_repr():
    form = LanguageModel(url="unused", model="small")
    assert "hush" not in repr(LanguageModelFulfiller(form, HttpCalls(), "https://x", "hush"))


def chunked(*pieces: bytes) -> Behaviour:
    """Sends each piece as a chunk of its own."""

    async def send(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD.replace(b"Connection: close", b"Transfer-Encoding: chunked"))
        for at in range(0, len(pieces), 1_000):
            writer.write(b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces[at : at + 1_000]))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    return send


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (chunked(*[b"a"] * 60_000), "pieces of a few bytes"),
        (chunked(*[bytes((byte,)) for byte in chunk("Yes. " * 400) * 20]), "pieces of a few bytes"),
        (streams(b":\n" * 400_000), "over 20,000 lines"),
        (streams(b"data: " + b"x" * 900_000), "larger than 256 KiB"),
        (streams(chunk("*_`[" * 60_000 + "(")), "says nothing"),
        (streams(chunk("." * 240_000)), "says nothing"),
        (streams(*[chunk("*_`[" * 1_000)] * 60), "says nothing"),
        (streams(chunk("| " * 120_000)), "says nothing"),
        (streams(chunk("a" * 200_000)), ""),
        (streams(chunk("word " * 40_000)), ""),
    ],
)
async def test_a_model_with_bad_manners_stops_nobody(calls: HttpCalls, behaviour: Behaviour, problem: str):
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            # CPU time: a busy machine must not be taken for a stalled loop.
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)

    async with serving(behaviour) as server:
        watching = asyncio.create_task(watch())
        began = time.thread_time()
        try:
            if problem:
                with pytest.raises(CallFailedError, match=problem):
                    await outcome(calls, server, deadline_seconds=10, max_sentences=3)
            else:
                assert len(said(await outcome(calls, server, deadline_seconds=10, max_sentences=3))) == 3
        finally:
            watching.cancel()
    assert longest < 0.3
    assert time.thread_time() - began < 5
