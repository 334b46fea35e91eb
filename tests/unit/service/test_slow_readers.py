"""Callers who do not read what they are told: they are told so, and take nobody else's place."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from service.api.riva.proto import riva_asr_pb2_grpc
from service.grpc_server import response_writer
from tests.unit.service.harness import SPEECH, Harness, speaking
from tests.unit.service.refusals import details_of
from tests.unit.service.riva import calls
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import conversation_pb2_grpc

# Else a stream may come to hold megabytes, on a machine where others kept it waiting.
SMALL_WINDOW = [("grpc.http2.bdp_probe", 0)]
PCM = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)
CONFIG = pb.ConverseRequest(config=pb.ConversationConfig(audio=PCM, interim_results=True))


@pytest.fixture
async def harness(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Harness]:
    monkeypatch.setattr(response_writer, "WRITE_SECONDS", 0.3)
    async with Harness.running(max_conversations=1) as running:
        running.models.words = "word " * 100_000  # Far more than the network holds for a stream.
        yield running


@pytest.mark.parametrize("api", ["vivavoce", "riva"])
async def test_who_does_not_read_loses_the_place_and_is_told(harness: Harness, api: str):
    async with grpc.aio.insecure_channel(harness.address, SMALL_WINDOW) as channel:
        if api == "vivavoce":
            call = conversation_pb2_grpc.ConversationServiceStub(channel).Converse()
            end = pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance())
            requests = [CONFIG, *[*speaking(1), end] * 5]
        else:
            call = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel).StreamingRecognize()
            requests = [
                calls.config(interim_results=True),
                *[*calls.speaking(1), calls.audio(SPEECH, force_eou="true")] * 5,
            ]
        for request in requests:
            await call.write(request)
        async with asyncio.timeout(30):
            while not await _has_room(harness):
                await asyncio.sleep(0.05)
        with pytest.raises(grpc.aio.AioRpcError) as told:
            while await asyncio.wait_for(call.read(), 30) is not grpc.aio.EOF:
                pass
    assert told.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert details_of(told.value)["ErrorInfo"].reason == "SLOW_READER"


async def _has_room(harness: Harness) -> bool:
    try:
        await harness.converse([CONFIG])
    except grpc.aio.AioRpcError as refused:
        if details_of(refused)["ErrorInfo"].reason != "TOO_MANY_CONVERSATIONS":
            raise
        return False
    return True
