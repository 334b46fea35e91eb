"""Conversations that outlive their connection, through a real socket."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING

import grpc
import pytest
from google.rpc import error_details_pb2

import vivavoce
from tests.unit.clients.fake_service import error_info, refuse, refusing, seconds
from tests.unit.clients.lost_servers import SILENCE, WORD_SECONDS, Speaker, collect, hearing, is_partial, replies, word
from vivavoce import _look_back
from vivavoce._timeout import timeout
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.clients.lost_servers import Servers
    from vivavoce import Event

pytestmark = pytest.mark.usefixtures("no_task_left")


async def test_an_utterance_survives_the_server(servers: Servers) -> None:
    first = servers.start(hearing("first"))
    speaker = Speaker(word(1), SILENCE, word(2))
    events: list[Event] = []
    second = None

    async with vivavoce.connect(servers.address) as client, timeout(20):
        conversation = client.converse(speaker.speech(), interim_results=True, reconnect_seconds=10)
        async for event in conversation:
            events.append(event)
            if is_partial(event, "2") and second is None:
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
    assert replies(events) == [(1, "1"), (2, "2 3"), (3, "4")]
    assert all(event.client_latency_seconds is not None for event in events if isinstance(event, vivavoce.Reply))


async def test_a_connection_may_be_lost_again_and_again(servers: Servers) -> None:
    servers.start(hearing("0"))
    speaker = Speaker(word(1))
    events: list[Event] = []
    losses = 0

    async with vivavoce.connect(servers.address) as client, timeout(20):
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
    assert replies(events) == [(1, "1")]


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
    async with vivavoce.connect(servers.address) as client, timeout(20):
        async for event in client.converse(speaker.speech(), reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.Reply) and event.turn == 1:
                service.script = hearing("second")
                speaker.say(None)

    assert replies(events) == [(1, "first"), (2, "1"), (3, "second")]
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
    async with vivavoce.connect(servers.address) as client, timeout(20):
        events = [event async for event in client.converse([word(1)], reconnect_seconds=10)]

    assert replies(events) == [(1, "1")]
    assert service.audio() == word(1) * 2


async def test_a_connection_that_is_lost_when_all_was_answered_is_not_made_anew(servers: Servers) -> None:
    def dying(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from hearing("dying")(requests, context)
        context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    service = servers.start(dying)
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, timeout(20):
        with pytest.raises(vivavoce.ServerUnavailable, match="was lost"):
            async for event in client.converse([word(1)], reconnect_seconds=10):
                events.append(event)  # noqa: PERF401 - those before the error

    assert replies(events) == [(1, "1")]
    assert service.conversations == 1


async def test_what_is_left_out_is_told(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_look_back, "MAX_SECONDS", 1.0)
    servers.start(hearing("first"))
    speaker = Speaker(SILENCE, word(1), word(2), word(3))
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, timeout(20):
        conversation = client.converse(speaker.speech(), interim_results=True, reconnect_seconds=10)
        async for event in conversation:
            events.append(event)
            if is_partial(event, "1 2 3"):
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
    async with vivavoce.connect(servers.address) as client, timeout(20):
        async for event in client.converse(speaker.speech(), reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.GoingAway):
                speaker.say(SILENCE, None)
                await asyncio.sleep(0.2)
                await servers.stop()
                servers.start(hearing("second"))

    assert replies(events) == [(1, "1"), (2, "2")]


@pytest.mark.parametrize("reason", [pb.GOING_AWAY_REASON_SHUTDOWN, pb.GOING_AWAY_REASON_AGE])
async def test_what_a_server_that_ends_the_conversation_did_not_hear_is_said_again(
    servers: Servers, reason: pb.GoingAwayReason
) -> None:
    def deaf(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        next(requests)
        yield pb.ConverseResponse(started=pb.Started(conversation_id="deaf"))
        away = pb.GoingAway(reason=reason, grace=seconds(5))
        yield pb.ConverseResponse(going_away=away)
        for _ in requests:
            pass
        service.script = hearing("second")

    service = servers.start(deaf)
    async with vivavoce.connect(servers.address) as client, timeout(20):
        events = await collect(client.converse([word(1)], reconnect_seconds=10))

    assert replies(events) == [(1, "1")]


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
    async with vivavoce.connect(servers.address) as client, timeout(20):
        async for event in client.converse(speaker.speech(), audio=None, reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.Reply):
                speaker.say(None)

    assert replies(events) == [(1, "hello")]


async def test_what_a_server_that_waited_for_too_long_did_not_read_is_said_again(servers: Servers) -> None:
    def idle(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from _tired(requests, context)
        for _ in requests:
            pass
        service.script = hearing("second")

    service = servers.start(idle)
    async with vivavoce.connect(servers.address) as client, timeout(20):
        said = [vivavoce.TypedTurn("hello")]
        events = await collect(client.converse(said, audio=None, reconnect_seconds=10))

    assert replies(events) == [(1, "hello")]


async def test_audio_that_calls_the_end_off_too_late_is_said_again(servers: Servers) -> None:
    """The server has read it, and ended all the same: it is not known to owe a reply."""

    def idle(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from _tired(requests, context)
        next(requests)
        service.script = hearing("second")

    service = servers.start(idle)
    speaker = Speaker()
    events: list[Event] = []
    async with vivavoce.connect(servers.address) as client, timeout(20):
        async for event in client.converse(speaker.speech(), reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.GoingAway):
                speaker.say(word(1), None)

    assert replies(events) == [(1, "1")]


async def test_a_conversation_that_was_idle_for_too_long_ends(servers: Servers) -> None:
    service = servers.start(_tired)
    async with vivavoce.connect(servers.address) as client, timeout(20):
        with pytest.raises(vivavoce.ServerUnavailable, match="early"):
            await collect(client.converse(Speaker().speech(), reconnect_seconds=10))

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
    async with vivavoce.connect(servers.address) as client, timeout(20):
        async for event in client.converse(speaker.speech(), reconnect_seconds=10):
            events.append(event)
            if isinstance(event, vivavoce.SpeechBegan) and not refusals:
                await servers.stop()
                second = servers.start(full)
                speaker.say(None)

    assert replies(events) == [(1, "1")]
    assert second.audio() == word(1), "it is not told before it lets anybody in"
    assert all(later - earlier > 0.3 for earlier, later in itertools.pairwise(refusals))
