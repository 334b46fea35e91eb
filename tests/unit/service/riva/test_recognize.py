"""``Recognize`` through a real socket: whole recordings in one message."""

import asyncio

import grpc
import numpy as np
import pytest

from service.api.riva.proto import riva_asr_pb2 as pb
from service.api.riva.proto import riva_asr_pb2_grpc
from service.api.riva.proto.riva_common_pb2 import RequestId
from service.grpc_server.deserializers import MAX_RECEIVED_BYTES, MAX_RECORDING_BYTES
from tests.unit.pipelines.fakes import ScriptedVoice
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import details_of
from tests.unit.service.riva.calls import recognition, speech


def request(seconds: float, channels: int = 1, **fields: object) -> pb.RecognizeRequest:
    samples = np.zeros(round(16_000 * seconds) * channels, "<i2")
    return pb.RecognizeRequest(config=recognition(**fields), audio=samples.tobytes(), id=RequestId(value="mine"))


async def test_a_recording_becomes_one_transcript(harness: Harness):
    response = await speech(harness).Recognize(request(3))
    (result,) = response.results
    assert [alternative.transcript for alternative in result.alternatives] == ["w0 w1 w2 w3 "]
    assert result.channel_tag == 1
    assert result.audio_processed == pytest.approx(3.0, abs=0.032)
    assert response.id.value == "mine"
    assert harness.models.understood == []


async def test_all_utterances_of_a_recording_are_in_it(harness: Harness):
    harness.voice.new_stream = lambda: ScriptedVoice((1.5, 1.0), (3.0, 0.0), (1.5, 1.0), (3.0, 0.0), (0.1, 0.0))
    (result,) = (await speech(harness).Recognize(request(9))).results
    assert result.alternatives[0].transcript == "w0 w1 w0 w1 "


async def test_short_utterances_are_recognized_together(harness: Harness):
    """Groups of digits with a pause between them are heard as one number."""
    harness.voice.new_stream = lambda: ScriptedVoice((1.5, 1.0), (1.0, 0.0), (1.5, 1.0), (1.0, 0.0), (0.1, 0.0))
    (result,) = (await speech(harness).Recognize(request(5))).results
    assert result.alternatives[0].transcript == "w0 w1 w2 w3 w4 "
    assert len(harness.models.sequences) == 1


async def test_a_caller_who_chooses_the_pause_gets_it(harness: Harness):
    harness.voice.new_stream = lambda: ScriptedVoice((1.5, 1.0), (1.0, 0.0), (1.5, 1.0), (1.0, 0.0), (0.1, 0.0))
    endpointing = pb.EndpointingConfig(stop_history=700)
    (result,) = (await speech(harness).Recognize(request(5, endpointing_config=endpointing))).results
    assert result.alternatives[0].transcript == "w0 w1 w0 w1 "


async def test_silence_has_no_result(harness: Harness):
    harness.voice.probability = 0.0
    assert not (await speech(harness).Recognize(request(3))).results


async def test_marks_alone_are_no_result(harness: Harness):
    harness.models.words = "..."
    assert not (await speech(harness).Recognize(request(3))).results
    assert not (await speech(harness).Recognize(request(3, enable_automatic_punctuation=False))).results


async def test_each_channel_has_its_result(harness: Harness):
    both = request(2, channels=2, audio_channel_count=2, enable_separate_recognition_per_channel=True)
    results = (await speech(harness).Recognize(both)).results
    assert [result.channel_tag for result in results] == [1, 2]


async def test_long_recordings_are_taken_in_piece_by_piece_while_others_are_served(harness: Harness):
    harness.voice.probability = 0.0
    stub = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(harness.recordings)
    recording = asyncio.create_task(_recognize(stub, request(600)))
    while not recording.done():
        await speech(harness).GetRivaSpeechRecognitionConfig(pb.RivaSpeechRecognitionConfigRequest(), timeout=1)
        await asyncio.sleep(0.01)
    assert not (await recording).results


async def test_recordings_that_would_take_too_much_memory_together_are_refused(harness: Harness):
    with harness.memory.reserve(MAX_RECORDING_BYTES - 32_000):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await speech(harness).Recognize(request(2))
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert details_of(refused.value)["ErrorInfo"].reason == "TOO_MUCH_AUDIO"
        assert details_of(refused.value)["RetryInfo"].retry_delay.seconds >= 1
        assert (await speech(harness).Recognize(request(1))).results
    assert (await speech(harness).Recognize(request(2))).results


async def test_a_caller_who_gives_up_leaves_no_sequence_open(harness: Harness):
    call = speech(harness).Recognize(request(120))
    await harness.until(lambda: harness.models.open_sequences)
    call.cancel()
    await harness.until(lambda: not harness.models.open_sequences)
    assert (await speech(harness).Recognize(request(1))).results


@pytest.mark.parametrize("grace_seconds", [30, 0])
async def test_a_shutdown_leaves_a_recording_whole_or_refuses_it(harness: Harness, grace_seconds: float):
    harness.voice.new_stream = lambda: ScriptedVoice(*(((1.5, 1.0), (3.0, 0.0)) * 40))
    recording = asyncio.create_task(_recognize(speech(harness), request(180)))
    await harness.until(lambda: len(harness.models.sequences) > 2)
    drained = asyncio.create_task(harness.open_conversations.drain(grace_seconds))
    if grace_seconds:
        (result,) = (await recording).results
        assert result.alternatives[0].transcript == "w0 w1 " * 40
    else:
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await recording
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        assert details_of(ended.value)["ErrorInfo"].reason == "NOT_READY"
    await drained


async def test_a_recording_that_is_heard_but_not_recognized_at_a_shutdown_is_refused(harness: Harness):
    harness.models.recognition_seconds = 0.5
    recording = asyncio.create_task(_recognize(speech(harness), request(1)))
    await harness.until(lambda: harness.models.open_sequences and _phases(harness) == ["finalizing"])
    await harness.open_conversations.drain(0)
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        await recording
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    assert details_of(ended.value)["ErrorInfo"].reason == "NOT_READY"


async def test_a_recognizer_that_fails_is_told(harness: Harness):
    harness.models.fail = {"asr"}
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await speech(harness).Recognize(request(1))
    assert failed.value.code() is grpc.StatusCode.INTERNAL
    assert "out of order" in failed.value.details()


async def test_a_recording_too_long_for_the_callers_port_is_refused_and_taken_on_the_other(harness: Harness):
    harness.voice.probability = 0.0
    long = request(MAX_RECEIVED_BYTES / 32_000)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await speech(harness).Recognize(long)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in refused.value.details()
    assert not (await riva_asr_pb2_grpc.RivaSpeechRecognitionStub(harness.recordings).Recognize(long)).results


async def test_nobody_streams_on_the_port_for_recordings(harness: Harness):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await riva_asr_pb2_grpc.RivaSpeechRecognitionStub(harness.recordings).StreamingRecognize().read()
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def _recognize(
    stub: riva_asr_pb2_grpc.RivaSpeechRecognitionStub, asked: pb.RecognizeRequest
) -> pb.RecognizeResponse:
    return await stub.Recognize(asked)


def _phases(harness: Harness) -> list[str]:
    streams = harness.open_conversations._streams.values()
    return [conversation.phase for stream in streams for conversation in stream.conversations]
