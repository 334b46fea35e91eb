"""What clients do wrong, and what goes wrong behind the server."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import grpc
import pytest
from wyoming.asr import Transcribe, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import SelectProgram
from wyoming.intent import Recognize
from wyoming.ping import Ping, Pong

import vivavoce
from tests.unit.clients.fake_service import error_info, refusing
from tests.unit.clients.wyoming.conftest import PATIENCE_SECONDS
from tests.unit.clients.wyoming.events import chunk, hear, hear_all, hear_rest, say, speak
from vivavoce._timeout import timeout
from vivavoce.wyoming import WyomingServer, parse_uri
from vivavoce.wyoming import server as server_module

if TYPE_CHECKING:
    from pathlib import Path

    from wyoming.event import Eventable

    from tests.unit.clients.fake_service import FakeService

START = AudioStart(rate=16_000, width=2, channels=1)


async def _assert_alive(home: AsyncTcpClient) -> None:
    await say(home, Ping("alive?"))
    await hear(home, Pong)


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (SelectProgram("piper"), "unknown-program"),
        (Transcribe(name="whisper"), "unknown-program"),
        (Transcribe(language="de"), "unsupported-language"),
        (AudioStart(rate=0, width=2, channels=1), "bad-audio"),
        (AudioStart(rate=16_000, width=5, channels=1), "bad-audio"),
        (AudioStart(rate=16_000, width=2, channels=0), "bad-audio"),
        (AudioChunk(rate=16_000, width=2, channels=2, audio=bytes(6)), "bad-audio"),
    ],
)
async def test_what_makes_no_sense_is_told(home: AsyncTcpClient, event: Eventable, code: str) -> None:
    await say(home, event)

    events = [await home.read_event()]
    if TranscriptStart.is_type(events[-1].type):
        events.append(await home.read_event())
    error = Error.from_event(events[-1])
    assert error.code == code
    assert error.text.endswith(".")
    await _assert_alive(home)


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (AudioStop(), "bad-order"),
        (Recognize(text=7), "bad-event"),  # type: ignore[arg-type]
        (Event("recognize"), "bad-event"),
        (Event("transcript"), "bad-event"),
        (Event("intent"), "bad-event"),
    ],
)
async def test_what_would_be_waited_for_in_vain_ends_the_connection(
    home: AsyncTcpClient, event: Eventable | Event, code: str
) -> None:
    await home.write_event(event if isinstance(event, Event) else event.event())

    error = await hear(home, Error)
    assert error.code == code
    assert error.text.endswith(".")
    assert await hear_rest(home) == []


@pytest.mark.parametrize("kind", ["audio-start", "audio-chunk", "select-program"])
async def test_events_that_lack_something_are_told(home: AsyncTcpClient, kind: str) -> None:
    await home.write_event(Event(kind))

    assert (await hear(home, Error)).code == "bad-event"
    await _assert_alive(home)


async def test_hints_that_are_no_texts_are_told(home: AsyncTcpClient) -> None:
    await say(home, Transcribe(transcript_names=[7]), START)  # type: ignore[list-item]

    assert (await hear(home, Error)).code == "bad-event"


async def test_unknown_events_are_ignored(home: AsyncTcpClient) -> None:
    await home.write_event(Event("sing", {"text": "hello"}))
    await _assert_alive(home)


async def test_a_second_start_abandons_the_first_stream(service: FakeService, home: AsyncTcpClient) -> None:
    await say(home, START, chunk())
    await hear_all(home, TranscriptChunk)

    await say(home, START)

    assert (await hear(home, Error)).code == "bad-order"
    assert await asyncio.to_thread(service.ended.wait, PATIENCE_SECONDS)
    await speak(home)
    await hear_all(home, TranscriptStop)


async def test_transcribe_begins_anew_in_the_middle_of_a_stream(service: FakeService, home: AsyncTcpClient) -> None:
    await say(home, Transcribe(), START, chunk())
    await hear_all(home, TranscriptChunk)

    await say(home, Transcribe())
    assert await asyncio.to_thread(service.ended.wait, PATIENCE_SECONDS)
    await say(home, START, chunk(), AudioStop())

    types = await hear_all(home, TranscriptStop)
    assert "error" not in types
    assert types.count("transcript") == 1


_WRONG = pytest.mark.parametrize(
    "wrong",
    [Transcribe(language="de"), AudioStart(rate=0, width=2, channels=1), chunk(b"odd")],
    ids=["transcribe", "start", "chunk"],
)


@_WRONG
async def test_one_error_is_told_of_a_stream_whose_end_ends_the_connection(
    home: AsyncTcpClient, wrong: Eventable
) -> None:
    await say(home, wrong, START, *[chunk(b"odd")] * 5)
    await say(home, Ping("alive?"))
    types = [kind for kind in await hear_all(home, Pong) if kind != "transcript-start"]
    assert types == ["error", "pong"]

    await say(home, AudioStop())

    assert await hear_rest(home) == []


@_WRONG
async def test_transcribe_begins_anew_after_an_error(home: AsyncTcpClient, wrong: Eventable) -> None:
    await say(home, wrong, START, *[chunk(b"odd")] * 5)

    await speak(home)

    types = await hear_all(home, TranscriptStop)
    assert types.count("error") == 1
    assert "transcript" in types
    await _assert_alive(home)


async def test_a_change_of_rate_is_told(home: AsyncTcpClient) -> None:
    await say(home, START, chunk(rate=8_000))

    events = await hear_all(home, Error)
    assert events[-1] == "error"
    await _assert_alive(home)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"[]\n",
        b'{"data": {}}\n',
        b'{"type": "ping", "data_length": "many"}\n',
        b"x" * 70_000,
        json.dumps({"type": "audio-chunk", "payload_length": 10**10}).encode() + b"\n",
        json.dumps({"type": "recognize", "data_length": 10**10}).encode() + b"\n",
    ],
)
async def test_what_is_no_event_is_told_and_ends_the_connection(uri: str, sent: bytes) -> None:
    where = parse_uri(uri)
    assert isinstance(where, tuple)
    reader, writer = await asyncio.open_connection(*where)
    writer.write(sent)

    async with timeout(PATIENCE_SECONDS):
        header = json.loads(await reader.readline())
        data = json.loads(await reader.readexactly(header["data_length"]))
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()

    assert header["type"] == "error"
    assert data["code"] in {"bad-event", "event-too-large"}


async def test_a_client_that_vanishes_leaves_nothing_behind(service: FakeService, uri: str, no_task_left: None) -> None:
    async with AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS) as home:
        await say(home, START, chunk())
        await hear(home, TranscriptStart)
        assert await asyncio.to_thread(service.config_arrived.wait, PATIENCE_SECONDS)

    assert await asyncio.to_thread(service.ended.wait, PATIENCE_SECONDS)


async def test_a_client_that_vanishes_in_the_middle_of_an_event_leaves_nothing_behind(
    uri: str, no_task_left: None
) -> None:
    where = parse_uri(uri)
    assert isinstance(where, tuple)
    _, writer = await asyncio.open_connection(*where)
    writer.write(b'{"type": "audio-chunk", "payload_length": 1000}\nhalf')
    writer.close()
    await writer.wait_closed()


async def test_a_refusal_of_the_service_reaches_the_client_and_ends_the_connection(
    service: FakeService, home: AsyncTcpClient
) -> None:
    reason = error_info("TOO_MANY_CONVERSATIONS")
    service.script = refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "the house is full; try again later", reason)

    await speak(home)

    await hear(home, TranscriptStart)
    error = await hear(home, Error)
    assert error.code == "too-many-conversations"
    assert "the house is full" in error.text
    assert await hear_rest(home) == []


async def test_audio_after_a_failure_is_dropped_and_its_end_ends_the_connection(
    service: FakeService, home: AsyncTcpClient
) -> None:
    service.script = refusing(grpc.StatusCode.INTERNAL, "broken")
    await say(home, START, chunk())
    await hear_all(home, Error)

    await say(home, *[chunk()] * 50)
    await _assert_alive(home)
    await say(home, AudioStop())

    assert await hear_rest(home) == []


async def test_a_service_that_cannot_be_reached_is_told(free_address: str, no_task_left: None) -> None:
    async with (
        vivavoce.connect(free_address, connect_timeout_seconds=0.05) as client,
        WyomingServer(client).listening(("127.0.0.1", 0)) as uri,
    ):
        async with AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS) as home:
            await say(home, Recognize("turn on the light"))
            assert (await hear(home, Error)).code == "server-unavailable"
            assert await hear_rest(home) == []
        async with AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS) as home:
            await speak(home)
            await hear(home, TranscriptStart)
            assert (await hear(home, Error)).code == "server-unavailable"
            assert await hear_rest(home) == []


async def test_one_client_too_many_is_told(
    client: vivavoce.Client, monkeypatch: pytest.MonkeyPatch, no_task_left: None
) -> None:
    monkeypatch.setattr(server_module, "MAX_CLIENTS", 1)
    async with (
        WyomingServer(client).listening(("127.0.0.1", 0)) as uri,
        AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS) as first,
    ):
        await _assert_alive(first)
        async with AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS) as second:
            assert (await hear(second, Error)).code == "too-many-clients"
            assert await second.read_event() is None
        await _assert_alive(first)


async def test_stopping_lets_clients_go(service: FakeService, client: vivavoce.Client, no_task_left: None) -> None:
    async with AsyncExitStack() as stack:
        async with WyomingServer(client).listening(("127.0.0.1", 0)) as uri:
            home = await stack.enter_async_context(AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS))
            await say(home, START, chunk())
            await hear_all(home, TranscriptChunk)

        assert await hear_rest(home) == []
        assert await asyncio.to_thread(service.ended.wait, PATIENCE_SECONDS)


async def test_a_unix_socket_serves_and_is_removed(client: vivavoce.Client, tmp_path: Path) -> None:
    path = tmp_path / "wyoming.sock"
    async with WyomingServer(client).listening(path) as uri, AsyncTcpClient.from_uri(uri) as home:
        assert uri == f"unix://{path}"
        await _assert_alive(home)
    assert not path.exists()


@pytest.mark.parametrize(
    "uri", ["", "10300", "tcp://localhost", "tcp://localhost:99999", "http://localhost:1", "unix://a/b"]
)
def test_addresses_that_are_none_are_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="tcp://HOST:PORT"):
        parse_uri(uri)
