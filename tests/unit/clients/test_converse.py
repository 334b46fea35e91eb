"""Conversations through a real socket."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest

import vivavoce
from tests.unit.clients.fake_service import FakeService, make_answer, make_reply, seconds
from vivavoce._conversation import BACKLOG_MESSAGES
from vivavoce._timeout import timeout
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import grpc

pytestmark = pytest.mark.usefixtures("no_task_left")

SECOND_OF_AUDIO = bytes(32_000)


async def test_events_arrive_typed_and_in_order(client: vivavoce.Client) -> None:
    events = [event async for event in client.converse([SECOND_OF_AUDIO])]

    assert events[:-1] == [
        vivavoce.Started("c-1"),
        vivavoce.SpeechBegan(1, 0.25),
        vivavoce.Transcript(1, "turn on", is_final=False, start_seconds=0.25, end_seconds=1.5),
        vivavoce.Transcript(1, "turn on the", is_final=False, start_seconds=0.25, end_seconds=1.5),
        vivavoce.SpeechEnded(1, 1.0, vivavoce.EndReason.HALF_CLOSE),
        vivavoce.Transcript(1, "turn on the light", is_final=True, start_seconds=0.25, end_seconds=1.5, language="en"),
    ]
    reply = events[-1]
    assert isinstance(reply, vivavoce.Reply)
    assert reply.intent == vivavoce.Intent("iot_hue_lighton", 0.75)
    assert reply.slots == (vivavoce.Slot("device_type", "light", "light", 12, 17),)
    assert reply.answer is None
    assert reply.status is vivavoce.ReplyStatus.COMPLETE
    assert reply.latency.total_seconds == 0.041
    assert reply.latency.of(vivavoce.Stage.ASR) == vivavoce.StageLatency(vivavoce.Stage.ASR, 0.002, 0.0605)
    assert reply.latency.of(vivavoce.Stage.QA) is None
    assert reply.speculated
    assert reply.client_latency_seconds is not None
    assert 0 <= reply.client_latency_seconds < 5


async def test_a_partial_reply_names_what_is_missing(service: FakeService, client: vivavoce.Client) -> None:
    partial = {"status": reply_pb2.REPLY_STATUS_PARTIAL, "overran": [reply_pb2.STAGE_QA], "answer": make_answer()}

    def script(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from (pb.ConverseResponse(reply=make_reply(**partial)) for request in requests if request.text)

    service.script = script
    [reply] = [event async for event in client.converse([vivavoce.TypedTurn("hello")], audio=None)]

    assert isinstance(reply, vivavoce.Reply)
    assert reply.status is vivavoce.ReplyStatus.PARTIAL
    assert reply.overran == (vivavoce.Stage.QA,)
    assert reply.answer == vivavoce.Answer("at nine", 0.5, 17, 24, "museum.txt")


async def test_what_a_newer_server_says_does_not_break_an_older_client(
    service: FakeService, client: vivavoce.Client
) -> None:
    def script(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        yield from (pb.ConverseResponse() for _ in requests)
        yield pb.ConverseResponse(speech_ended=pb.SpeechEnded(turn=1, reason=99))  # type: ignore[arg-type]
        yield pb.ConverseResponse(notice=pb.Notice(code=pb.NOTICE_CODE_NO_SPEECH, message="Speak.", turn=0))
        away = pb.GoingAway(reason=pb.GOING_AWAY_REASON_SHUTDOWN, grace=seconds(5))
        yield pb.ConverseResponse(going_away=away)

    service.script = script

    assert [event async for event in client.converse([SECOND_OF_AUDIO])] == [
        vivavoce.SpeechEnded(1, 0.0, vivavoce.EndReason.UNKNOWN),
        vivavoce.Notice(vivavoce.NoticeCode.NO_SPEECH, "Speak.", None),
        vivavoce.GoingAway(vivavoce.GoingAwayReason.SHUTDOWN, 5.0),
    ]


async def test_the_config_says_what_the_caller_wants(service: FakeService, client: vivavoce.Client) -> None:
    conversation = client.converse(
        [b"\0\0"],
        audio=vivavoce.AudioFormat(vivavoce.Encoding.MULAW, 8_000, 2),
        interim_results=True,
        endpointing=vivavoce.Endpointing(stop_window_seconds=0.8, stop_threshold=0.0),
        documents=["The museum opens at nine.", vivavoce.Document("Closed.", id="b")],
        phrase_hints=[vivavoce.PhraseHints(("Old Harbour",), 5.0), vivavoce.PhraseHints(("pier",))],
        reply_budget_seconds=0.25,
        max_alternatives=3,
    )
    async for _ in conversation:
        pass

    assert service.config() == pb.ConversationConfig(
        audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_MULAW, sample_rate_hz=8_000, channel_count=2),
        interim_results=True,
        prompts=True,
        endpointing=pb.EndpointingConfig(stop_window=seconds(0.8), stop_threshold=0.0),
        documents=[reply_pb2.Document(text="The museum opens at nine."), reply_pb2.Document(id="b", text="Closed.")],
        phrase_hints=[pb.PhraseHints(phrases=["Old Harbour"], boost=5.0), pb.PhraseHints(phrases=["pier"])],
        reply_budget=seconds(0.25),
        max_alternatives=3,
    )
    # Zero is a value; left out is another.
    assert service.config().endpointing.HasField("stop_threshold")
    assert not service.config().endpointing.HasField("start_threshold")
    assert not service.config().phrase_hints[1].HasField("boost")


async def test_what_is_left_out_is_left_to_the_server(service: FakeService, client: vivavoce.Client) -> None:
    async for _ in client.converse([vivavoce.TypedTurn("hello")], audio=None):
        pass

    assert service.config() == pb.ConversationConfig(prompts=True)


async def test_the_config_does_not_wait_for_the_first_audio(service: FakeService, client: vivavoce.Client) -> None:
    async def speech() -> AsyncIterator[bytes]:
        assert await asyncio.to_thread(service.config_arrived.wait, 5)
        yield SECOND_OF_AUDIO

    events = [event async for event in client.converse(speech())]

    assert isinstance(events[-1], vivavoce.Reply)


async def test_turns_that_are_typed_or_ended_by_hand(service: FakeService, client: vivavoce.Client) -> None:
    said = [SECOND_OF_AUDIO, vivavoce.EndOfUtterance(), vivavoce.TypedTurn("What time is it?"), SECOND_OF_AUDIO]

    replies = [event async for event in client.converse(said) if isinstance(event, vivavoce.Reply)]

    assert [reply.turn for reply in replies] == [1, 2, 3]
    assert replies[1].transcript == "What time is it?"
    assert all(reply.client_latency_seconds is not None for reply in replies)


async def test_long_chunks_arrive_whole_in_pieces_that_end_between_samples(
    service: FakeService, client: vivavoce.Client
) -> None:
    samples = np.arange(-30_000, 30_000, dtype=np.int16)

    async for _ in client.converse([samples]):
        pass

    assert service.audio() == samples.astype("<i2").tobytes()
    sizes = [len(request.audio) for request in service.received if request.audio]
    assert len(sizes) > 1
    assert all(size % 8 == 0 for size in sizes[:-1])


async def test_what_is_said_before_there_is_a_connection_is_kept(service: FakeService) -> None:
    spoken = asyncio.Event()

    async def speech() -> AsyncIterator[np.ndarray]:
        for number in range(20):
            yield np.full(160, number, np.int16)
        spoken.set()

    async with _slow_way_to(service.address, until=spoken) as address, vivavoce.connect(address) as client:
        await _collect(client.converse(speech()))

    assert service.audio() == b"".join(np.full(160, number, "<i2").tobytes() for number in range(20))


async def _collect(conversation: vivavoce.Conversation) -> list[vivavoce.Event]:
    return [event async for event in conversation]


@asynccontextmanager
async def _slow_way_to(address: str, until: asyncio.Event) -> AsyncIterator[str]:
    """Relays connections to `address`, but lets nothing through before `until`."""
    host, port = address.split(":")
    relayed = asyncio.Event()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await until.wait()
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        relayed.set()

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await asyncio.wait_for(relayed.wait(), 5)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_nothing_is_taken_from_the_caller_beyond_the_bound(service: FakeService) -> None:
    """A server that does not read exerts pressure up to the caller's iterator."""
    may_read, taken = threading.Event(), 0

    def script(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        may_read.wait(10)
        yield from (pb.ConverseResponse() for _ in requests)

    async def speech() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(4 * BACKLOG_MESSAGES):
            taken += 1
            yield bytes(32 * 1024)

    service.script = script
    async with vivavoce.connect(service.address) as client:
        collecting = asyncio.create_task(_collect(client.converse(speech())))
        while True:  # Until nothing moves any more.
            before = taken
            await asyncio.sleep(0.2)
            if taken == before > 0:
                break
        stalled_at = taken
        may_read.set()
        await collecting

    # What the transport buffers comes on top; on a busy machine it takes more in at once.
    assert BACKLOG_MESSAGES <= stalled_at < 3 * BACKLOG_MESSAGES
    assert taken == 4 * BACKLOG_MESSAGES


async def test_leaving_the_loop_ends_the_call_and_closes_the_speech(
    service: FakeService, client: vivavoce.Client
) -> None:
    closed = asyncio.Event()

    async def speech() -> AsyncIterator[bytes]:
        try:
            while True:
                yield bytes(320)
                await asyncio.sleep(0.001)
        finally:
            closed.set()

    async for event in client.converse(speech()):
        if isinstance(event, vivavoce.SpeechBegan):
            break

    await asyncio.wait_for(closed.wait(), 5)
    assert await asyncio.to_thread(service.ended.wait, 5)


async def test_cancelling_the_caller_ends_the_call(service: FakeService, client: vivavoce.Client) -> None:
    async def speech() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    collecting = asyncio.create_task(_collect(client.converse(speech())))
    assert await asyncio.to_thread(service.config_arrived.wait, 5)
    collecting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await collecting
    assert await asyncio.to_thread(service.ended.wait, 5)


async def test_closing_the_client_ends_conversations_that_others_wait_on(service: FakeService) -> None:
    async def speech() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    async with vivavoce.connect(service.address) as client:
        events, started = [], asyncio.Event()

        async def collect() -> None:
            async for event in client.converse(speech()):
                events.append(event)
                started.set()

        collecting = asyncio.create_task(collect())
        await asyncio.wait_for(started.wait(), 5)

    await asyncio.wait_for(collecting, 5)
    assert events == [vivavoce.Started("c-1")]


async def test_an_error_of_the_callers_audio_is_raised_as_it_is(service: FakeService, client: vivavoce.Client) -> None:
    async def speech() -> AsyncIterator[bytes]:
        yield SECOND_OF_AUDIO
        assert await asyncio.to_thread(service.config_arrived.wait, 5)
        raise ZeroDivisionError("the microphone fell down")

    with pytest.raises(ZeroDivisionError, match="fell down"):
        await _collect(client.converse(speech()))
    assert await asyncio.to_thread(service.ended.wait, 5)


async def test_an_error_of_the_audio_is_told_to_a_caller_who_was_busy_when_it_came(client: vivavoce.Client) -> None:
    may_fail = asyncio.Event()

    async def speech() -> AsyncIterator[bytes]:
        await may_fail.wait()
        raise ZeroDivisionError("the microphone fell down")
        yield b""

    with pytest.raises(ZeroDivisionError, match="fell down"):
        async with timeout(5):  # The server has nothing more to say.
            async for _ in client.converse(speech()):
                may_fail.set()
                for _ in range(20):
                    await asyncio.sleep(0)


@pytest.mark.parametrize("in_its_own_task", [False, True])
async def test_the_audio_itself_may_end_the_conversation(
    service: FakeService, client: vivavoce.Client, *, in_its_own_task: bool
) -> None:
    async def speech() -> AsyncIterator[bytes]:
        yield SECOND_OF_AUDIO
        assert await asyncio.to_thread(service.config_arrived.wait, 5)
        await (asyncio.create_task(conversation.aclose()) if in_its_own_task else conversation.aclose())
        while True:
            yield bytes(320)

    conversation = client.converse(speech())
    async with timeout(5):
        await _collect(conversation)

    assert conversation.closed
    assert await asyncio.to_thread(service.ended.wait, 5)


async def test_the_next_conversation_works_after_a_failed_one(client: vivavoce.Client) -> None:
    with pytest.raises(TypeError, match="int32"):
        await _collect(client.converse([np.zeros(160, np.int32)]))  # type: ignore[list-item]

    assert isinstance((await _collect(client.converse([SECOND_OF_AUDIO])))[-1], vivavoce.Reply)


async def test_many_conversations_at_once_on_one_client(service: FakeService, client: vivavoce.Client) -> None:
    results = await asyncio.gather(*(_collect(client.converse([SECOND_OF_AUDIO])) for _ in range(6)))

    assert service.conversations == 6
    assert all(isinstance(events[-1], vivavoce.Reply) for events in results)


async def test_a_conversation_is_held_once(client: vivavoce.Client) -> None:
    conversation = client.converse([SECOND_OF_AUDIO])
    await _collect(conversation)

    with pytest.raises(RuntimeError, match="only once"):
        await _collect(conversation)


async def test_a_client_must_be_open(service: FakeService) -> None:
    client = vivavoce.connect(service.address)

    with pytest.raises(RuntimeError, match="async with"):
        client.converse([SECOND_OF_AUDIO])
    with pytest.raises(RuntimeError, match="async with"):
        await client.ask("hello")


async def test_plain_documents_can_be_told_apart(service: FakeService, client: vivavoce.Client) -> None:
    named = vivavoce.Document("Closed on Mondays.", id="days")
    await client.ask("When does it open?", documents=["At nine.", named, "At ten."])

    assert [(document.id, document.text) for document in service.asked[0].documents] == [
        ("1", "At nine."),
        ("days", "Closed on Mondays."),
        ("3", "At ten."),
    ]


async def test_ask(service: FakeService, client: vivavoce.Client) -> None:
    reply = await client.ask("Turn on the light", documents=["The museum opens at nine."], reply_budget_seconds=0.2)

    assert reply.transcript == "Turn on the light"
    assert reply.client_latency_seconds is not None
    assert service.asked == [
        pb.AskRequest(
            text="Turn on the light",
            documents=[reply_pb2.Document(text="The museum opens at nine.")],
            reply_budget=seconds(0.2),
        )
    ]
