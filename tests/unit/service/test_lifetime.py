"""Conversations that last as long as one may, through a real socket; the models behind are fakes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import pytest

from tests.unit.pipelines.fakes import ScriptedVoice
from tests.unit.service.harness import SPEECH, Harness, speaking, voiced
from tests.unit.service.refusals import details_of
from tests.unit.service.riva import calls as riva
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable

    Call = grpc.aio.StreamStreamCall[pb.ConverseRequest, pb.ConverseResponse]

PCM = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)
CONFIG = pb.ConverseRequest(config=pb.ConversationConfig(audio=PCM))


async def _begun(harness: Harness, requests: Iterable[pb.ConverseRequest]) -> Call:
    """Says the beginning of an utterance, and returns when it is under recognition."""
    call = harness.stub.Converse()
    for request in (CONFIG, *requests):
        await call.write(request)
    await harness.until(lambda: harness.models.open_sequences)
    return call


async def _until_old(call: Call, *at_the_end: pb.ConverseRequest) -> list[pb.ConverseResponse]:
    """Returns what comes until the server ends the conversation for its age; on hearing so, something more is said."""
    responses = []
    with pytest.raises(grpc.RpcError) as ended:
        async for response in call:
            responses.append(response)
            if response.HasField("going_away"):
                for request in at_the_end:
                    await call.write(request)
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    details = details_of(ended.value)
    assert details["ErrorInfo"].reason == "AGE"
    assert "RetryInfo" in details
    return responses


async def test_a_stream_on_which_nothing_but_silence_comes_ends_some_day():
    async with Harness.running(longest_seconds=0.3) as harness:
        harness.voice.probability = 0.0
        call = harness.stub.Converse()
        await call.write(CONFIG)

        async def silence() -> None:
            while True:
                await call.write(pb.ConverseRequest(audio=SPEECH))
                await asyncio.sleep(0.02)

        sending = asyncio.create_task(silence())
        responses = await _until_old(call)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)

    assert [response.WhichOneof("response") for response in responses] == ["started", "going_away"]
    away = responses[-1].going_away
    assert (away.reason, away.grace.seconds) == (pb.GOING_AWAY_REASON_AGE, 60)


async def test_the_turn_under_way_is_answered_first():
    async with Harness.running(longest_seconds=1.5) as harness:
        harness.voice.new_stream = lambda: ScriptedVoice((1.0, voiced), (1.0, 0.0))
        call = await _begun(harness, speaking(0.9))
        kinds = [response.WhichOneof("response") for response in await _until_old(call, *speaking(1.1))]

    assert kinds.index("going_away") < kinds.index("reply")
    assert kinds[-1] == "reply"


async def test_a_turn_that_does_not_end_is_not_waited_for():
    async with Harness.running(longest_seconds=1.0, turn_seconds=0.2) as harness:
        call = await _begun(harness, speaking(1))
        kinds = [response.WhichOneof("response") for response in await _until_old(call)]
        await harness.until(lambda: not harness.models.open_sequences)

    assert kinds[-1] == "going_away"


async def test_what_was_said_before_the_half_close_is_answered_whatever_the_age():
    patient = pb.ConverseRequest()
    patient.CopyFrom(CONFIG)
    patient.config.reply_budget.FromSeconds(5)
    async with Harness.running(longest_seconds=1.0, turn_seconds=0.0) as harness:
        harness.models.understanding_seconds = 1.5
        kinds = [response.WhichOneof("response") for response in await harness.converse([patient, *speaking(1)])]

    assert "going_away" not in kinds
    assert kinds[-1] == "reply"


@pytest.mark.parametrize("voice", [0.0, voiced])
async def test_a_stream_of_rivas_is_ended_with_a_sentence(voice: float):
    async with Harness.running(longest_seconds=0.3, turn_seconds=0.1) as harness:
        harness.voice.probability = voice
        call = riva.speech(harness).StreamingRecognize()
        for request in (riva.config(), *riva.speaking(1)):
            await call.write(request)
        with pytest.raises(grpc.RpcError) as ended:
            await call.read()
        await harness.until(lambda: not harness.models.open_sequences)

    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    assert details_of(ended.value)["ErrorInfo"].reason == "AGE"
    assert "RetryInfo" in details_of(ended.value)


async def test_what_was_sent_and_not_read_when_the_server_shut_down_does_not_seem_to_be_heard():
    async with Harness.running() as harness:
        call = harness.stub.Converse()
        await call.write(CONFIG)
        assert (await call.read()).HasField("started")
        await harness.open_conversations.drain(1)
        assert (await call.read()).going_away.reason == pb.GOING_AWAY_REASON_SHUTDOWN
        with pytest.raises(grpc.RpcError) as ended:
            await call.read()

    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    assert details_of(ended.value)["ErrorInfo"].reason == "NOT_READY"


async def test_who_still_speaks_when_the_grace_of_a_shutdown_is_over_is_told_why_it_ends():
    async with Harness.running() as harness:
        harness.voice.probability = voiced
        ours, rivas = harness.stub.Converse(), riva.speech(harness).StreamingRecognize()
        for request in (CONFIG, *speaking(1)):
            await ours.write(request)
        for request in (riva.config(), *riva.speaking(1)):
            await rivas.write(request)
        await harness.until(lambda: len(harness.models.open_sequences) == 2)
        await harness.open_conversations.drain(0.1)
        for call in (ours, rivas):
            with pytest.raises(grpc.RpcError) as ended:
                while await call.read() is not grpc.aio.EOF:
                    pass
            assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
            details = details_of(ended.value)
            assert details["ErrorInfo"].reason == "NOT_READY"
            assert "RetryInfo" in details
        await harness.until(lambda: not harness.models.open_sequences)
