"""Riva's API of the running service: the same conversations as over our own, so the same words."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING

import grpc
import pytest
import soundfile
from grpc_health.v1 import health_pb2, health_pb2_grpc

import vivavoce
from demo.manifest import utterances
from service.api.riva.proto import (
    riva_asr_pb2,
    riva_asr_pb2_grpc,
    riva_audio_pb2,
    riva_nlp_pb2,
    riva_nlp_pb2_grpc,
    riva_tts_pb2,
)
from tests.integration.test_punctuation_model import SENTENCES

if TYPE_CHECKING:
    from tests.integration.conftest import Triton

RECORDINGS = {utterance.path.stem: utterance.path for utterance in utterances()}
AS_IT_IS = riva_asr_pb2.RecognitionConfig(
    encoding=riva_audio_pb2.FLAC, enable_automatic_punctuation=True, verbatim_transcripts=True
)


def streamed(stub: riva_asr_pb2_grpc.RivaSpeechRecognitionStub, data: bytes) -> str:
    def requests():
        config = riva_asr_pb2.StreamingRecognitionConfig(config=AS_IT_IS, interim_results=True)
        yield riva_asr_pb2.StreamingRecognizeRequest(streaming_config=config)
        for start in range(0, len(data), 3_200):
            yield riva_asr_pb2.StreamingRecognizeRequest(audio_content=data[start : start + 3_200])

    results = [result for response in stub.StreamingRecognize(requests(), timeout=60) for result in response.results]
    return "".join(result.alternatives[0].transcript for result in results if result.is_final).rstrip()


def recognized(stub: riva_asr_pb2_grpc.RivaSpeechRecognitionStub, data: bytes) -> str:
    request = riva_asr_pb2.RecognizeRequest(config=AS_IT_IS, audio=data)
    results = stub.Recognize(request, timeout=60).results
    return "".join(result.alternatives[0].transcript for result in results).rstrip()


async def conversed(address: str, name: str) -> str:
    recording = vivavoce.read_audio(RECORDINGS[name])
    async with vivavoce.connect(address) as client:
        events = [event async for event in client.converse(recording.chunks(), audio=recording.format)]
    return " ".join(event.text for event in events if isinstance(event, vivavoce.Transcript) and event.is_final)


@pytest.mark.parametrize("name", sorted(RECORDINGS)[::3])
async def test_the_words_are_the_same_over_every_api(server_address: str, name: str):
    data = RECORDINGS[name].read_bytes()
    with grpc.insecure_channel(server_address) as channel:
        stub = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel)
        found = [await asyncio.to_thread(call, stub, data) for call in (streamed, recognized)]
    assert [await conversed(server_address, name)] * 2 == found
    assert len(found[0]) > 10


async def test_streams_that_are_dropped_leave_no_sequence_open(server_address: str, triton: Triton):
    samples, rate = soundfile.read(RECORDINGS["lights"], dtype="int16")
    assert rate == 16_000
    config = riva_asr_pb2.StreamingRecognitionConfig(config=riva_asr_pb2.RecognitionConfig(sample_rate_hertz=rate))
    chances = random.Random(3)

    async def drop(channel: grpc.aio.Channel) -> None:
        call = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel).StreamingRecognize()
        # A busy machine has no place for some of so many, and ends their streams itself.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await call.write(riva_asr_pb2.StreamingRecognizeRequest(streaming_config=config))
            for start in range(0, chances.randrange(8_000, 32_000), 1_600):
                chunk = samples[start : start + 1_600].tobytes()
                await call.write(riva_asr_pb2.StreamingRecognizeRequest(audio_content=chunk))
        call.cancel()

    async with grpc.aio.insecure_channel(server_address) as channel:
        for _ in range(2):
            await asyncio.gather(*(drop(channel) for _ in range(50)))
            async with asyncio.timeout(20):
                while await asyncio.to_thread(triton.open_sequences):
                    await asyncio.sleep(0.1)
    with grpc.insecure_channel(server_address) as channel:
        stub = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel)
        data = RECORDINGS["lights"].read_bytes()
        assert "lights" in await asyncio.to_thread(recognized, stub, data)


async def test_the_health_of_each_service_is_told(server_address: str):
    async with grpc.aio.insecure_channel(server_address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for service in (
            riva_asr_pb2.DESCRIPTOR.services_by_name["RivaSpeechRecognition"],
            riva_nlp_pb2.DESCRIPTOR.services_by_name["RivaLanguageUnderstanding"],
            riva_tts_pb2.DESCRIPTOR.services_by_name["RivaSpeechSynthesis"],
        ):
            name = service.full_name
            answer = await health.Check(health_pb2.HealthCheckRequest(service=name))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_the_service_punctuates_as_riva_does(server_address: str):
    with grpc.insecure_channel(server_address) as channel:
        stub = riva_nlp_pb2_grpc.RivaLanguageUnderstandingStub(channel)
        request = riva_nlp_pb2.TextTransformRequest(text=[*SENTENCES, "...", "It's 9:30."] * 12)
        response = stub.PunctuateText(request, timeout=30)
    assert list(response.text) == [*SENTENCES.values(), "...", "It's 9:30."] * 12
