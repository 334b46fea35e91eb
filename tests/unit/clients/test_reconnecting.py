"""Conversations that outlive their connection, through a real socket."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import grpc
import pytest
from google.rpc import error_details_pb2

import vivavoce
from tests.unit.clients.fake_service import (
    BYTES_PER_SECOND,
    FakeService,
    Script,
    error_info,
    make_reply,
    refuse,
    refusing,
    seconds,
    serving,
)
from vivavoce import _look_back
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from vivavoce import Event, Utterable

pytestmark = pytest.mark.usefixtures("no_task_left")

WORD_SECONDS = 0.5


def word(number: int) -> bytes:
    """Half a second of audio that `hearing` understands as `number`; 0 is silence."""
    return bytes([number]) * round(WORD_SECONDS * BYTES_PER_SECOND)


SILENCE = word(0)


def hearing(name: str) -> Script:
    """Makes the script of a server that hears words, and takes the silence after them for the end of the utterance."""

    def script(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        heard = _Heard()
        for request in requests:
            match request.WhichOneof("request"):
                case "config":
                    yield pb.ConverseResponse(started=pb.Started(conversation_id=name))
                case "audio":
                    for number, repeated in itertools.groupby(request.audio):
                        yield from heard.add(number, len(list(repeated)) / BYTES_PER_SECOND)
                case "end_of_utterance":
                    yield from heard.end(pb.END_REASON_REQUESTED)
                case "text":
                    yield pb.ConverseResponse(reply=make_reply(heard.turn, request.text))
                    heard.turn += 1
        yield from heard.end(pb.END_REASON_HALF_CLOSE)

    return script


class _Heard:
    def __init__(self) -> None:
        self.turn = 1
        self._words: list[str] = []
        self._start = self._position = 0.0

    def add(self, number: int, duration: float) -> Iterator[pb.ConverseResponse]:
        if number == 0:
            yield from self.end(pb.END_REASON_SILENCE)
        elif not self._words:
            self._start = self._position
            began = pb.SpeechBegan(turn=self.turn, start=seconds(self._position))
            yield pb.ConverseResponse(speech_began=began)
        self._position += duration
        if number and str(number) not in self._words:
            self._words.append(str(number))
            yield self._transcript(is_final=False)

    def end(self, reason: pb.EndReason) -> Iterator[pb.ConverseResponse]:
        if self._words:
            ended = pb.SpeechEnded(turn=self.turn, end=seconds(self._position), reason=reason)
            yield pb.ConverseResponse(speech_ended=ended)
            yield self._transcript(is_final=True)
            yield pb.ConverseResponse(reply=make_reply(self.turn, " ".join(self._words)))
            self.turn, self._words = self.turn + 1, []

    def _transcript(self, *, is_final: bool) -> pb.ConverseResponse:
        start, end = seconds(self._start), seconds(self._position)
        text = " ".join(self._words)
        return pb.ConverseResponse(
            transcript=pb.Transcript(turn=self.turn, text=text, is_final=is_final, start=start, end=end)
        )


class Servers:
    """Servers that follow one another on one port."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self.address = "127.0.0.1:0"

    def start(self, script: Script) -> FakeService:
        service = self._running.enter_context(serving(self.address))
        service.script = script
        self.address = service.address
        return service

    async def stop(self) -> None:
        await asyncio.to_thread(self._running.close)


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    servers = Servers()
    yield servers
    await servers.stop()


class Speaker:
    """Says some things at once and others when told to."""

    def __init__(self, *at_once: Utterable) -> None:
        self._at_once = at_once
        self._later: asyncio.Queue[Utterable | Exception | None] = asyncio.Queue()

    def say(self, *said: Utterable | Exception | None) -> None:
        """Says more; None is the end."""
        for one in said:
            self._later.put_nowait(one)

    async def speech(self) -> AsyncIterator[Utterable]:
        for one in self._at_once:
            yield one
        while (said := await self._later.get()) is not None:
            if isinstance(said, Exception):
                raise said
            yield said


def _replies(events: list[Event]) -> list[tuple[int, str]]:
    return [(event.turn, event.transcript) for event in events if isinstance(event, vivavoce.Reply)]


def _is_partial(event: Event, text: str) -> bool:
    return isinstance(event, vivavoce.Transcript) and not event.is_final and event.text == text


async def test_an_utterance_survives_the_server(servers: Servers) -> None:
    first = servers.start(hearing("first"))
    speaker = Speaker(word(1), SILENCE, word(2))
    events: list[Event] = []
    second = None

    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        conversation = client.converse(speaker.speech(), interim_results=True, reconnect_seconds=10)
        async for event in conversation:
            events.append(event)
            if _is_partial(event, "2") and second is None:
                await servers.stop()
                speaker.say(word(3))  # Nobody listens.
                await asyncio.sleep(0.3)
                second = servers.start(hearing("second"))
                speaker.say(SILENCE, word(4), None)

    assert second is not None
    assert first.audio() == word(1) + SILENCE + word(2)
    assert second.received[0] == first.received[0], "the config"
    assert second.audio() == SILENCE + word(2) + word(3) + SILENCE + word(4)
    [reconnected] = [event for event in events if isinstance(event, vivavoce.Reconnected)]
    # The word that nobody heard waits for the new stream, or was still written to the old one before its end was known.
    assert reconnected.lost_seconds == 0.0
    assert reconnected.replayed_seconds in {2 * WORD_SECONDS, 3 * WORD_SECONDS}
    after = events[events.index(reconnected) + 1 :]
    assert [event for event in after if not isinstance(event, vivavoce.Transcript | vivavoce.Reply)] == [
        vivavoce.Started("second"),
        vivavoce.SpeechBegan(2, 1.0),
        vivavoce.SpeechEnded(2, 2.0, vivavoce.EndReason.SILENCE),
        vivavoce.SpeechBegan(3, 2.5),
        vivavoce.SpeechEnded(3, 3.0, vivavoce.EndReason.HALF_CLOSE),
    ]
    finals = [event for event in after if isinstance(event, vivavoce.Transcript) and event.is_final]
    assert [(one.start_seconds, one.end_seconds) for one in finals] == [(1.0, 2.0), (2.5, 3.0)]
    assert _replies(events) == [(1, "1"), (2, "2 3"), (3, "4")]
    assert all(event.client_latency_seconds is not None for event in events if isinstance(event, vivavoce.Reply))


async def test_a_connection_may_be_lost_again_and_again(servers: Servers) -> None:
    servers.start(hearing("0"))
    speaker = Speaker(word(1))
    events: list[Event] = []
    losses = 0

    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        async for event in client.converse(speaker.speech(), reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.SpeechBegan) and losses < 3:
                losses += 1
                await servers.stop()
                servers.start(hearing(str(losses)))
            elif isinstance(event, vivavoce.SpeechBegan):
                speaker.say(None)

    assert [event for event in events if isinstance(event, vivavoce.Reconnected)] == [
        vivavoce.Reconnected(lost_seconds=0.0, replayed_seconds=WORD_SECONDS)
    ] * 3
    assert [event for event in events if isinstance(event, vivavoce.Started)][-1] == vivavoce.Started("3")
    assert _replies(events) == [(1, "1")]


async def test_push_to_talk_and_typed_turns_are_said_again_until_they_are_answered(servers: Servers) -> None:
    def deaf(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        responses = hearing("deaf")(requests, context)
        while True:
            response = next(responses)
            yield response
            if response.reply.transcript == "first":
                break
        for request in requests:
            if request.text:
                context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    service = servers.start(deaf)
    push_to_talk = word(1), vivavoce.EndOfUtterance()
    speaker = Speaker(vivavoce.TypedTurn("first"), *push_to_talk, vivavoce.TypedTurn("second"))
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        async for event in client.converse(speaker.speech(), reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.Reply) and event.turn == 1:
                service.script = hearing("second")
                speaker.say(None)

    assert _replies(events) == [(1, "first"), (2, "1"), (3, "second")]
    kinds = [request.WhichOneof("request") for request in service.received]
    assert kinds[kinds.index("config", 1) :] == ["config", "audio", "end_of_utterance", "text"]


async def test_what_was_not_answered_when_all_was_said_is_said_again(servers: Servers) -> None:
    def dying(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        for request in requests:
            if request.HasField("config"):
                yield pb.ConverseResponse(started=pb.Started(conversation_id="dying"))
        service.script = hearing("second")
        context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    service = servers.start(dying)
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        events = [event async for event in client.converse([word(1)], reconnect_seconds=10)]

    assert _replies(events) == [(1, "1")]
    assert service.audio() == word(1) * 2


async def test_a_connection_that_is_lost_when_all_was_answered_is_not_made_anew(servers: Servers) -> None:
    def dying(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from hearing("dying")(requests, context)
        context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    service = servers.start(dying)
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        with pytest.raises(vivavoce.ServerUnavailable, match="was lost"):
            async for event in client.converse([word(1)], reconnect_seconds=10):
                events.append(event)  # noqa: PERF401 - those before the error

    assert _replies(events) == [(1, "1")]
    assert service.conversations == 1


async def test_what_is_left_out_is_told(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_look_back, "MAX_SECONDS", 1.0)
    servers.start(hearing("first"))
    speaker = Speaker(SILENCE, word(1), word(2), word(3))
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        conversation = client.converse(speaker.speech(), interim_results=True, reconnect_seconds=10)
        async for event in conversation:
            events.append(event)
            if _is_partial(event, "1 2 3"):
                await servers.stop()
                second = servers.start(hearing("second"))
                speaker.say(None)

    assert vivavoce.Reconnected(lost_seconds=0.5, replayed_seconds=1.0) in events
    assert second.audio() == word(2) + word(3)
    assert events[events.index(vivavoce.Started("second")) + 1] == vivavoce.SpeechBegan(1, 1.0)


async def test_a_server_that_shuts_down_is_followed_by_the_next(servers: Servers) -> None:
    def leaving(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        responses = hearing("first")(requests, context)
        while True:
            response = next(responses)
            yield response
            if response.HasField("reply"):
                break
        service.script = refusing(grpc.StatusCode.UNAVAILABLE, "It shuts down.", error_info("NOT_READY"))
        away = pb.GoingAway(reason=pb.GOING_AWAY_REASON_SHUTDOWN, grace=seconds(5))
        yield pb.ConverseResponse(going_away=away)

    service = servers.start(leaving)
    speaker = Speaker(word(1), SILENCE, word(2))
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        async for event in client.converse(speaker.speech(), reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.GoingAway):
                speaker.say(SILENCE, None)
                await asyncio.sleep(0.2)
                await servers.stop()
                servers.start(hearing("second"))

    assert _replies(events) == [(1, "1"), (2, "2")]


async def test_what_a_server_that_shuts_down_did_not_hear_is_said_again(servers: Servers) -> None:
    def deaf(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        next(requests)
        yield pb.ConverseResponse(started=pb.Started(conversation_id="deaf"))
        away = pb.GoingAway(reason=pb.GOING_AWAY_REASON_SHUTDOWN, grace=seconds(5))
        yield pb.ConverseResponse(going_away=away)
        for _ in requests:
            pass
        service.script = hearing("second")

    service = servers.start(deaf)
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        events = await _collect(client.converse([word(1)], reconnect_seconds=10))

    assert _replies(events) == [(1, "1")]


def _tired(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
    """Lets a conversation begin, and says that it was idle for too long."""
    next(requests)
    yield pb.ConverseResponse(started=pb.Started(conversation_id="idle"))
    yield pb.ConverseResponse(going_away=pb.GoingAway(reason=pb.GOING_AWAY_REASON_IDLE))


async def test_a_conversation_that_was_idle_goes_on_where_a_reply_is_owed(servers: Servers) -> None:
    def idle(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from _tired(requests, context)
        next(requests)
        service.script = hearing("second")

    service = servers.start(idle)
    speaker = Speaker(vivavoce.TypedTurn("hello"))
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        async for event in client.converse(speaker.speech(), audio=None, reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.Reply):
                speaker.say(None)

    assert _replies(events) == [(1, "hello")]


async def test_a_conversation_that_was_idle_for_too_long_ends(servers: Servers) -> None:
    service = servers.start(_tired)
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        with pytest.raises(vivavoce.ServerUnavailable, match="early"):
            await _collect(client.converse(Speaker().speech(), reconnect_seconds=10))

    assert service.conversations == 1


async def test_a_full_server_is_asked_again_when_it_says(servers: Servers) -> None:
    refusals: list[float] = []

    def full(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        refusals.append(time.monotonic())
        if len(refusals) < 3:
            retry = error_details_pb2.RetryInfo(retry_delay=seconds(0.4))
            refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "Full.", error_info("TOO_MANY_CONVERSATIONS"), retry)
        yield from hearing("second")(requests, context)

    servers.start(hearing("first"))
    speaker = Speaker(word(1))
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(20):
        async for event in client.converse(speaker.speech(), reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.SpeechBegan) and not refusals:
                await servers.stop()
                second = servers.start(full)
                speaker.say(None)

    assert _replies(events) == [(1, "1")]
    assert second.audio() == word(1), "it is not told before it lets anybody in"
    assert all(later - earlier > 0.3 for earlier, later in itertools.pairwise(refusals))


async def _collect(conversation: vivavoce.Conversation) -> list[Event]:
    return [event async for event in conversation]


async def _lose(servers: Servers, client: vivavoce.Client, reconnect_seconds: float, then: Script | None) -> None:
    """Speaks to a server that dies, and is replaced by another one where there is a script for it."""
    async with asyncio.timeout(20):
        async for event in client.converse(Speaker(word(1)).speech(), reconnect_seconds=reconnect_seconds):
            if isinstance(event, vivavoce.SpeechBegan):
                await servers.stop()
                if then is not None:
                    servers.start(then)


def _connected(servers: Servers) -> vivavoce.Client:
    servers.start(hearing("first"))
    return vivavoce.connect(servers.address)


async def test_when_the_time_is_over_the_server_is_unavailable(servers: Servers) -> None:
    async with _connected(servers) as client:
        began = time.monotonic()
        with pytest.raises(vivavoce.ServerUnavailable, match="No server answers"):
            await _lose(servers, client, 1.0, None)

    assert 0.4 < time.monotonic() - began < 10


async def test_a_server_that_stays_full_is_unavailable(servers: Servers) -> None:
    details = error_info("TOO_MANY_CONVERSATIONS"), error_details_pb2.RetryInfo(retry_delay=seconds(2.5))
    full = refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "The server is full.", *details)
    async with _connected(servers) as client:
        with pytest.raises(vivavoce.ServerUnavailable, match=r"made anew: The server is full\.") as caught:
            await _lose(servers, client, 1.0, full)

    assert caught.value.retry_after_seconds == 2.5
    assert isinstance(caught.value.__cause__, vivavoce.Overloaded)


async def test_a_server_that_takes_the_call_and_says_nothing_is_unavailable(servers: Servers) -> None:
    def mute(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from (pb.ConverseResponse() for _ in requests if False)

    async with _connected(servers) as client:
        with pytest.raises(vivavoce.ServerUnavailable, match="did not take the conversation up again"):
            await _lose(servers, client, 1.0, mute)


async def test_a_refusal_of_what_was_sent_is_final(servers: Servers) -> None:
    refusal = refusing(grpc.StatusCode.INVALID_ARGUMENT, "Send something else.", error_info("EMPTY_AUDIO"))
    async with _connected(servers) as client:
        with pytest.raises(vivavoce.InvalidRequest, match="something else"):
            await _lose(servers, client, 10.0, refusal)


async def test_without_being_asked_to_nothing_is_made_anew(servers: Servers) -> None:
    calls: list[str] = []

    def second(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        calls.append("again")
        yield from hearing("second")(requests, context)

    async with _connected(servers) as client:
        with pytest.raises(vivavoce.VivavoceError) as caught:
            await _lose(servers, client, 0.0, second)

    assert caught.value.retryable
    assert not calls


async def test_a_server_that_never_was_there_is_told_at_once(servers: Servers) -> None:
    servers.start(hearing("nobody"))
    await servers.stop()
    async with vivavoce.connect(servers.address) as client:
        began = time.monotonic()
        with pytest.raises(vivavoce.ServerUnavailable, match="No server answers"):
            await _collect(client.converse([word(1)], reconnect_seconds=30))

    assert time.monotonic() - began < 10


async def test_closing_ends_the_waiting_for_a_server(servers: Servers) -> None:
    async with _connected(servers) as client:
        conversation = client.converse(Speaker(word(1)).speech(), reconnect_seconds=30)
        began = asyncio.Event()

        async def hold() -> None:
            async for event in conversation:
                if isinstance(event, vivavoce.SpeechBegan):
                    await servers.stop()
                    began.set()

        holding = asyncio.create_task(hold())
        async with asyncio.timeout(10):
            await began.wait()
            await asyncio.sleep(0.5)
            assert not holding.done()
            await conversation.aclose()
            await holding

    assert conversation.closed


async def test_cancelling_ends_the_waiting_for_a_server(servers: Servers) -> None:
    async with _connected(servers) as client:
        losing = asyncio.create_task(_lose(servers, client, 30.0, None))
        await asyncio.sleep(1)
        losing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await losing


@pytest.mark.parametrize("error", [ZeroDivisionError("fell down"), TimeoutError("fell down")])
async def test_an_error_of_the_callers_audio_ends_the_waiting_for_a_server(servers: Servers, error: Exception) -> None:
    servers.start(hearing("first"))
    speaker = Speaker(word(1))
    async with vivavoce.connect(servers.address) as client, asyncio.timeout(10):
        with pytest.raises(type(error), match="fell down"):
            async for event in client.converse(speaker.speech(), reconnect_seconds=30):
                if isinstance(event, vivavoce.SpeechBegan):
                    await servers.stop()
                    asyncio.get_running_loop().call_later(0.4, speaker.say, error)


async def test_a_container_cannot_be_said_again(servers: Servers) -> None:
    async with _connected(servers) as client:
        flac = vivavoce.AudioFormat(vivavoce.Encoding.FLAC)
        with pytest.raises(vivavoce.InvalidRequest, match="send LINEAR_PCM"):
            client.converse([], audio=flac, reconnect_seconds=10)
        assert not client.converse([], audio=flac).closed
