"""Spoken replies on a real socket, with fake models and a fake voice behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import pytest
from google.protobuf import duration_pb2

from tests.unit.pipelines.spoken import SpeakingModels
from tests.unit.service.harness import Harness, speaking
from tests.unit.service.refusals import assert_refused
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

GUIDE = reply_pb2.Document(id="guide", text="Paris is the capital of France.")
PCM = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)


def config(**fields: object) -> pb.ConverseRequest:
    chosen = {"audio": PCM, "documents": [GUIDE], "reply_audio": pb.ReplyAudioConfig()} | fields
    return pb.ConverseRequest(config=pb.ConversationConfig(**chosen))


def seconds(value: float) -> duration_pb2.Duration:
    duration = duration_pb2.Duration()
    duration.FromMicroseconds(round(1e6 * value))
    return duration


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    models = SpeakingModels(0.001, 0.001, 0.001, synthesis_seconds=0.001)
    async with Harness.running(models=models) as running:
        yield running


def of(responses: list[pb.ConverseResponse], kind: str) -> list:
    return [getattr(response, kind) for response in responses if response.WhichOneof("response") == kind]


async def test_a_reply_is_spoken_after_it_was_told(harness: Harness):
    responses = await harness.converse([config(), pb.ConverseRequest(text="which city?")])
    (reply,) = of(responses, "reply")
    assert reply.speech_text == "Paris is the capital of France."
    pieces = of(responses, "reply_audio")
    assert responses.index(pb.ConverseResponse(reply=reply)) < responses.index(
        pb.ConverseResponse(reply_audio=pieces[0])
    )
    assert {piece.turn for piece in pieces} == {1}
    assert sum(len(piece.audio) for piece in pieces) == 3 * 48_000
    assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert pieces[1].start.ToMilliseconds() == 80


async def test_without_the_config_nothing_is_spoken(harness: Harness):
    first = pb.ConverseRequest(config=pb.ConversationConfig(audio=PCM, documents=[GUIDE]))
    responses = await harness.converse([first, pb.ConverseRequest(text="which city?")])
    assert of(responses, "reply")[0].speech_text == ""
    assert of(responses, "reply_audio") == []
    assert harness.models.spoken_texts == []


async def test_everything_that_is_asked_is_honoured(harness: Harness):
    asked = pb.ReplyAudioConfig(
        encoding=pb.AUDIO_ENCODING_MULAW,
        sample_rate_hz=8_000,
        voice="heart",
        speed=1.5,
        seed=42,
        lexicon=[pb.LexiconEntry(word="Paris", alias="Parigi")],
    )
    responses = await harness.converse([config(reply_audio=asked), pb.ConverseRequest(text="which city?")])
    audio = b"".join(piece.audio for piece in of(responses, "reply_audio"))
    assert len(audio) == pytest.approx(3 * 8_000, rel=0.01)
    assert harness.models.spoken_texts == ["Parigi is the capital of France."]


async def test_speech_interrupts_and_cancelling_does(harness: Harness):
    stream = harness.stub.Converse()
    harness.models.sentence_seconds = 30.0
    harness.models.words = "what about Monday"
    await stream.write(config())
    await stream.write(pb.ConverseRequest(text="which city?"))
    kinds = []
    while "reply_audio" not in kinds:
        kinds.append((await stream.read()).WhichOneof("response"))
    await stream.write(pb.ConverseRequest(playback=pb.Playback(turn=1, position=seconds(0.05))))
    for request in speaking(1.5):
        await stream.write(request)
    interrupted = None
    while interrupted is None:
        response = await asyncio.wait_for(stream.read(), 5)
        interrupted = response.interrupted if response.WhichOneof("response") == "interrupted" else None
    assert (interrupted.turn, interrupted.reason) == (1, pb.INTERRUPTION_REASON_SPEECH)
    assert interrupted.heard.ToMilliseconds() == 50
    await stream.write(pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance()))
    while True:
        response = await asyncio.wait_for(stream.read(), 5)
        assert not (response.WhichOneof("response") == "reply_audio" and response.reply_audio.turn == 1)
        if response.WhichOneof("response") == "reply_audio":
            break
    await stream.write(pb.ConverseRequest(cancel_reply=pb.CancelReply(turn=2)))
    while response.WhichOneof("response") != "interrupted":
        response = await asyncio.wait_for(stream.read(), 5)
    assert (response.interrupted.turn, response.interrupted.reason) == (2, pb.INTERRUPTION_REASON_CANCELLED)
    await stream.done_writing()
    assert await stream.read() is grpc.aio.EOF
    assert harness.models.under_way == 0


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"encoding": 99}, "UNKNOWN_ENCODING", "encoding"),
        ({"encoding": pb.AUDIO_ENCODING_CONTAINER}, "UNSUPPORTED_ENCODING", "encoding"),
        ({"sample_rate_hz": 7_999}, "SAMPLE_RATE_OUT_OF_RANGE", "sample_rate_hz"),
        ({"voice": "nobody"}, "UNKNOWN_VOICE", "voice"),
        ({"speed": 0.1}, "SPEED_OUT_OF_RANGE", "speed"),
        ({"seed": -1}, "SEED_OUT_OF_RANGE", "seed"),
        ({"lexicon": [pb.LexiconEntry(word="x")]}, "BAD_LEXICON_WORD", "lexicon"),
    ],
)
async def test_a_voice_that_cannot_be_is_refused(harness: Harness, fields: dict, reason: str, field: str):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse([config(reply_audio=pb.ReplyAudioConfig(**fields))])
    assert_refused(refused.value, reason, f"config.reply_audio.{field}")


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"disabled": True, "backchannels": ["x"]}, "INTERRUPTION_DISABLED", ""),
        ({"disabled": True, "ignore_backchannels": False}, "INTERRUPTION_DISABLED", ""),
        ({"shortest_speech": seconds(6)}, "INTERRUPTION_OUT_OF_RANGE", ".shortest_speech"),
        ({"backchannels": ["!"]}, "BAD_BACKCHANNEL", ".backchannels"),
        ({"backchannels": ["x"] * 101}, "TOO_MANY_BACKCHANNELS", ".backchannels"),
        ({"backchannels": ["x"], "ignore_backchannels": False}, "BACKCHANNELS_NOT_IGNORED", ".backchannels"),
    ],
)
async def test_an_interruption_that_cannot_be_is_refused(harness: Harness, fields: dict, reason: str, field: str):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse([config(interruption=pb.InterruptionConfig(**fields))])
    assert_refused(refused.value, reason, f"config.interruption{field}")


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (pb.ConverseRequest(playback=pb.Playback(turn=1)), "UNKNOWN_TURN", "playback.turn"),
        (pb.ConverseRequest(cancel_reply=pb.CancelReply(turn=1)), "UNKNOWN_TURN", "cancel_reply.turn"),
        (pb.ConverseRequest(cancel_reply=pb.CancelReply(turn=-1)), "UNKNOWN_TURN", "cancel_reply.turn"),
    ],
)
async def test_a_turn_that_never_was_is_refused(
    harness: Harness, request_: pb.ConverseRequest, reason: str, field: str
):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse([config(), request_])
    assert_refused(refused.value, reason, field)


async def test_a_position_that_runs_backwards_is_refused(harness: Harness):
    harness.models.sentence_seconds = 30.0
    playback = [pb.ConverseRequest(playback=pb.Playback(turn=1, position=seconds(at))) for at in (0.5, 0.2)]
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse([config(), pb.ConverseRequest(text="which city?"), *playback])
    assert_refused(refused.value, "PLAYBACK_RUNS_BACKWARDS", "playback.position")
