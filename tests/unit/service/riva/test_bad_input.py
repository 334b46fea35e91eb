"""What Riva's clients can send wrongly, through a real socket. Each gets a clear error that names the field as Riva
does, no sequence stays open, and the next stream works as if nothing had happened."""

import asyncio

import grpc
import numpy as np
import pytest

from pipelines.errors import ModelUnavailableError
from service.api.riva.proto import riva_asr_pb2 as pb
from service.api.riva.proto import riva_audio_pb2
from tests.unit.pipelines.compressed_audio import flac, noise
from tests.unit.pipelines.fakes import ScriptedVoice
from tests.unit.service.harness import SPEECH, Harness, voiced
from tests.unit.service.refusals import assert_refused, details_of
from tests.unit.service.riva.calls import audio, config, finals, recognition, speaking, speech, stream

EMPTY = pb.StreamingRecognizeRequest()

STREAMS = {
    "audio before config": ([audio(SPEECH)], "NO_CONFIG", "streaming_config"),
    "an empty first request": ([EMPTY], "NO_CONFIG", "streaming_config"),
    "nothing at all": ([], "NO_CONFIG", "streaming_config"),
    "config twice": ([config(), config()], "SECOND_CONFIG", "streaming_config"),
    "config in the middle of speech": ([config(), *speaking(1), config()], "SECOND_CONFIG", "streaming_config"),
    "an empty request": ([config(), EMPTY], "EMPTY_REQUEST", "streaming_request"),
    "a PDF": ([config(), audio(b"%PDF-1.7" + SPEECH)], "UNDECODABLE_AUDIO", "audio_content"),
    "no header where one is needed": (
        [config(encoding=riva_audio_pb2.ENCODING_UNSPECIFIED, sample_rate_hertz=0), audio(SPEECH)],
        "UNDECODABLE_AUDIO",
        "audio_content",
    ),
    "another runtime option": ([config(), audio(SPEECH, gain="2")], "UNKNOWN_OPTION", "runtime_config[gain]"),
    "another runtime option with the config": (
        [pb.StreamingRecognizeRequest(streaming_config=config().streaming_config, runtime_config={"gain": "2"})],
        "UNKNOWN_OPTION",
        "runtime_config[gain]",
    ),
    "two channels of which nothing was said": (
        [
            config(encoding=riva_audio_pb2.FLAC, enable_separate_recognition_per_channel=True),
            audio(flac(noise(1), channels=2)),
        ],
        "NO_CHANNEL_COUNT",
        "streaming_config.config.audio_channel_count",
    ),
    "a runtime option that is no truth value": (
        [config(), audio(SPEECH, force_eou="1")],
        "BAD_OPTION_VALUE",
        "runtime_config[force_eou]",
    ),
}

FIELDS = {
    "another language": ({"language_code": "de-DE"}, "UNSUPPORTED_LANGUAGE", "language_code"),
    "another model": ({"model": "parakeet-ctc-riva-0-6b-zh-cn"}, "UNKNOWN_MODEL", "model"),
    "an unknown encoding": ({"encoding": 7}, "UNKNOWN_ENCODING", "encoding"),
    "a rate too low": ({"sample_rate_hertz": 7_999}, "SAMPLE_RATE_OUT_OF_RANGE", "sample_rate_hertz"),
    "a rate too high": ({"sample_rate_hertz": 48_001}, "SAMPLE_RATE_OUT_OF_RANGE", "sample_rate_hertz"),
    "three channels": ({"audio_channel_count": 3}, "CHANNEL_COUNT_OUT_OF_RANGE", "audio_channel_count"),
    "fewer transcripts than none": ({"max_alternatives": -1}, "ALTERNATIVES_OUT_OF_RANGE", "max_alternatives"),
    "who said it": (
        {"diarization_config": {"enable_speaker_diarization": True}},
        "NO_SPEAKER_DIARIZATION",
        "diarization_config.enable_speaker_diarization",
    ),
    "too many phrases": (
        {"speech_contexts": [{"phrases": ["x"] * 1_001}]},
        "TOO_MANY_PHRASES",
        "speech_contexts",
    ),
    "a boost out of range": (
        {"speech_contexts": [{"phrases": ["x"], "boost": 101}]},
        "BOOST_OUT_OF_RANGE",
        "speech_contexts",
    ),
    "an option that is not served": (
        {"custom_configuration": {"gpu": "0"}},
        "UNKNOWN_OPTION",
        "custom_configuration[gpu]",
    ),
    "an option's value": (
        {"custom_configuration": {"neural_vad.onset": "loud"}},
        "BAD_OPTION_VALUE",
        "custom_configuration[neural_vad.onset]",
    ),
    "thresholds that cross": (
        {"custom_configuration": {"neural_vad.onset": "0.3", "neural_vad.offset": "0.4"}},
        "BAD_OPTION_VALUE",
        "custom_configuration[neural_vad.offset]",
    ),
    "endpointing by something else": (
        {"custom_configuration": {"enable_vad_endpointing": "false"}},
        "BAD_OPTION_VALUE",
        "custom_configuration[enable_vad_endpointing]",
    ),
    **{
        f"{name} of {value}": (
            {"endpointing_config": {name: value}},
            "ENDPOINTING_OUT_OF_RANGE",
            f"endpointing_config.{name}",
        )
        for name, value in [
            ("start_history", 0),
            ("start_history", 2_001),
            ("start_threshold", 0.0),
            ("start_threshold", 1.5),
            ("stop_history", 100),
            ("stop_history", 10_001),
            ("stop_threshold", 0.0),
            ("stop_threshold", float("nan")),
            ("stop_history_eou", 32),
            ("stop_history_eou", 10_001),
            ("stop_threshold_eou", 0.9),
        ]
    },
}


@pytest.mark.parametrize("case", STREAMS)
async def test_a_stream_that_cannot_be_served_is_refused(harness: Harness, case: str):
    requests, reason, field = STREAMS[case]
    with pytest.raises(grpc.RpcError) as refused:
        await stream(harness, requests)
    assert_refused(refused.value, reason, field)
    await assert_next_stream_works(harness)


@pytest.mark.parametrize("case", FIELDS)
async def test_a_field_that_cannot_be_honoured_is_refused_by_its_name(harness: Harness, case: str):
    fields, reason, field = FIELDS[case]
    with pytest.raises(grpc.RpcError) as refused:
        await stream(harness, [config(**fields), audio(SPEECH)])
    assert_refused(refused.value, reason, f"streaming_config.config.{field}")
    with pytest.raises(grpc.RpcError) as refused:
        await speech(harness).Recognize(pb.RecognizeRequest(config=recognition(**fields), audio=SPEECH))
    assert_refused(refused.value, reason, f"config.{field}")
    await assert_next_stream_works(harness)


async def test_an_empty_recording_is_refused(harness: Harness):
    with pytest.raises(grpc.RpcError) as refused:
        await speech(harness).Recognize(pb.RecognizeRequest(config=recognition()))
    assert_refused(refused.value, "EMPTY_AUDIO", "audio")


async def test_a_recording_of_more_channels_than_were_told_is_refused(harness: Harness):
    told = recognition(encoding=riva_audio_pb2.FLAC, enable_separate_recognition_per_channel=True)
    with pytest.raises(grpc.RpcError) as refused:
        await speech(harness).Recognize(pb.RecognizeRequest(config=told, audio=flac(noise(1), channels=2)))
    assert_refused(refused.value, "NO_CHANNEL_COUNT", "config.audio_channel_count")
    assert "set the channel count to 2" in refused.value.details()
    assert (await speech(harness).Recognize(pb.RecognizeRequest(config=told, audio=flac(noise(1))))).results


async def test_an_unknown_model_has_no_config(harness: Harness):
    with pytest.raises(grpc.RpcError) as refused:
        await speech(harness).GetRivaSpeechRecognitionConfig(
            pb.RivaSpeechRecognitionConfigRequest(model_name="conformer-de-DE-asr-streaming")
        )
    assert_refused(refused.value, "UNKNOWN_MODEL", "model_name")


async def test_bytes_that_are_no_protobuf_are_refused(harness: Harness):
    with pytest.raises(grpc.RpcError) as refused:
        await harness.channel.unary_unary("/nvidia.riva.asr.RivaSpeechRecognition/Recognize")(b"\x12\x05hel")
    assert_refused(refused.value, "MALFORMED_REQUEST", "request")
    assert "nvidia.riva.asr" in refused.value.details()


async def test_a_message_too_long_for_a_stream_is_refused(harness: Harness):
    with pytest.raises(grpc.RpcError) as refused:
        await stream(harness, [config(), audio(bytes(5 << 20))])
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert details_of(refused.value)["ErrorInfo"].reason == "MESSAGE_TOO_LARGE"
    await assert_next_stream_works(harness)


async def test_a_stream_that_closes_at_once_ends_in_order(harness: Harness):
    assert await stream(harness, [config()]) == []


async def test_a_hundred_streams_opened_and_dropped_leave_nothing_behind():
    async with Harness.running(max_conversations=128) as harness:
        calls = [speech(harness).StreamingRecognize() for _ in range(100)]
        await asyncio.gather(*(_begin(call) for call in calls))
        await harness.until(lambda: len(harness.models.open_sequences) == 100)
        for call in calls:
            call.cancel()
        await harness.until(lambda: not harness.models.open_sequences)
        await assert_next_stream_works(harness)


async def test_past_the_limit_a_stream_is_refused_at_once():
    async with Harness.running(max_conversations=1) as harness:
        call = speech(harness).StreamingRecognize()
        await _begin(call)
        await harness.until(lambda: harness.models.open_sequences)
        for attempt in (
            stream(harness, [config()]),
            speech(harness).Recognize(pb.RecognizeRequest(config=recognition(), audio=SPEECH)),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                await attempt
            assert details_of(refused.value)["ErrorInfo"].reason == "TOO_MANY_CONVERSATIONS"
        call.cancel()
        await assert_next_stream_works(harness)


async def test_before_the_models_are_ready_a_caller_is_told_to_return():
    async with Harness.running(ready=False) as harness:
        with pytest.raises(grpc.RpcError) as refused:
            await stream(harness, [config()])
        assert details_of(refused.value)["ErrorInfo"].reason == "NOT_READY"


async def test_a_stream_left_idle_is_ended_with_a_sentence():
    async with Harness.running(idle_seconds=0.1, grace_seconds=0.05) as harness:
        call = speech(harness).StreamingRecognize()
        await call.write(config())
        with pytest.raises(grpc.RpcError) as ended:
            await call.read()
        assert ended.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert details_of(ended.value)["ErrorInfo"].reason == "IDLE"


async def test_a_shutdown_ends_a_stream_when_nobody_speaks_and_says_why(harness: Harness):
    harness.voice.new_stream = lambda: ScriptedVoice((1.0, voiced), (1.0, 0.0))
    call = speech(harness).StreamingRecognize()
    await _begin(call)
    await harness.until(lambda: harness.models.open_sequences)
    drained = asyncio.create_task(harness.open_conversations.drain(5))
    for request in speaking(1.0):
        await call.write(request)
    assert (await call.read()).results[0].is_final
    with pytest.raises(grpc.RpcError) as ended:
        await call.read()
    assert details_of(ended.value)["ErrorInfo"].reason == "NOT_READY"
    await drained


BOTH_CHANNELS = audio(2 * SPEECH)


async def _begin_with_two_channels(harness: Harness, *voices: ScriptedVoice) -> grpc.aio.StreamStreamCall:
    """Sends most of a second on two channels, and returns when an utterance is under recognition."""
    each = iter(voices)
    harness.voice.new_stream = lambda: next(each)
    call = speech(harness).StreamingRecognize()
    await call.write(config(audio_channel_count=2, enable_separate_recognition_per_channel=True))
    for _ in range(7):
        await call.write(BOTH_CHANNELS)
    await harness.until(lambda: harness.models.open_sequences)
    return call


async def test_a_shutdown_waits_for_the_channel_that_speaks(harness: Harness):
    voices = ScriptedVoice((1.0, voiced), (1.0, 0.0)), ScriptedVoice((1.0, 0.0))
    call = await _begin_with_two_channels(harness, *voices)
    drained = asyncio.create_task(harness.open_conversations.drain(5))
    for _ in range(12):
        await call.write(BOTH_CHANNELS)
    (result,) = (await call.read()).results
    assert (result.is_final, result.channel_tag) == (True, 1)
    with pytest.raises(grpc.RpcError) as ended:
        await call.read()
    assert details_of(ended.value)["ErrorInfo"].reason == "NOT_READY"
    await drained


async def test_a_shutdown_leaves_a_channel_open_as_long_as_another_one_speaks(harness: Harness):
    voices = ScriptedVoice((9.0, voiced)), ScriptedVoice((0.6, 0.0), (9.0, voiced))
    call = await _begin_with_two_channels(harness, *voices)
    drained = asyncio.create_task(harness.open_conversations.drain(5))
    await asyncio.sleep(0)
    for _ in range(12):
        await call.write(BOTH_CHANNELS)
    await call.done_writing()
    results = [result async for response in call for result in response.results]
    assert sorted((result.is_final, result.channel_tag) for result in results) == [(True, 1), (True, 2)]
    assert await call.code() is grpc.StatusCode.OK
    await drained


async def test_a_stream_that_begins_during_a_shutdown_is_told_of_it(harness: Harness):
    first, second = speech(harness).StreamingRecognize(), speech(harness).StreamingRecognize()
    for call in (first, second):
        await call.wait_for_connection()
    await first.write(config())
    for request in speaking(1.0):
        await first.write(request)
    await harness.until(lambda: harness.models.open_sequences)
    drained = asyncio.create_task(harness.open_conversations.drain(5))
    await asyncio.sleep(0)
    await second.write(config())
    with pytest.raises(grpc.RpcError) as ended:
        await second.read()
    assert details_of(ended.value)["ErrorInfo"].reason == "NOT_READY"
    first.cancel()
    await drained


@pytest.mark.parametrize(
    ("error", "reason"),
    [(None, "MODEL_FAILED"), (ModelUnavailableError("the model server cannot be reached"), "MODELS_UNAVAILABLE")],
)
async def test_a_recognizer_that_fails_ends_the_stream(harness: Harness, error: Exception | None, reason: str):
    harness.models.fail = {"asr"}
    harness.models.error = error or harness.models.error
    with pytest.raises(grpc.RpcError) as failed:
        await stream(harness, [config(), *speaking(1)])
    assert details_of(failed.value)["ErrorInfo"].reason == reason
    harness.models.fail = set()
    await assert_next_stream_works(harness)


async def _begin(call: grpc.aio.StreamStreamCall) -> None:
    for request in (config(), *speaking(1)):
        await call.write(request)


async def assert_next_stream_works(harness: Harness) -> None:
    await harness.until(lambda: not harness.models.open_sequences)
    harness.voice.new_stream = lambda: ScriptedVoice((0.1, voiced))
    silence = np.zeros(1600, "<i2").tobytes()
    assert finals(await stream(harness, [config(), *[audio(silence)] * 20])) == ["w0 w1 w2"]
    assert harness.models.open_sequences == []
