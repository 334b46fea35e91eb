"""Riva's speech synthesis on a real socket, with a fake voice behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import numpy as np
import pytest

from service.api.riva.proto import riva_audio_pb2, riva_common_pb2, riva_tts_pb2_grpc
from service.api.riva.proto import riva_tts_pb2 as pb
from service.api.riva.tts import synthesis as module
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import assert_refused, details_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness.running() as running:
        yield running


def stub(harness: Harness) -> riva_tts_pb2_grpc.RivaSpeechSynthesisStub:
    return riva_tts_pb2_grpc.RivaSpeechSynthesisStub(harness.channel)


def request(text: str = "It is 9:30. Goodbye.", **fields: object) -> pb.SynthesizeSpeechRequest:
    chosen = {"language_code": "en-US", "encoding": riva_audio_pb2.LINEAR_PCM, "sample_rate_hz": 24_000}
    return pb.SynthesizeSpeechRequest(text=text, **(chosen | fields))


async def online(harness: Harness, *requests: pb.SynthesizeSpeechRequest) -> list[pb.SynthesizeSpeechResponse]:
    return [response async for response in stub(harness).SynthesizeOnline(iter(requests), timeout=10)]


async def test_a_text_is_spoken_whole(harness: Harness):
    response = await stub(harness).Synthesize(request(id=riva_common_pb2.RequestId(value="r-1")))
    assert harness.models.synthesizer.spoken == ["It is nine thirty.", "Goodbye."]
    assert len(np.frombuffer(response.audio, "<i2")) == round(0.55 * 24_000)
    assert response.meta.text == "It is 9:30. Goodbye."
    assert response.id.value == "r-1"


async def test_texts_are_spoken_one_after_the_other(harness: Harness):
    responses = await online(harness, request("One."), request("Two.", id=riva_common_pb2.RequestId(value="2")))
    assert harness.models.synthesizer.spoken == ["One.", "Two."]
    assert sum(len(response.audio) for response in responses) == 2 * 2_400 * 2
    assert [response.id.value for response in responses] == ["", "2"]


async def test_audio_of_a_stream_comes_before_the_next_text(harness: Harness):
    call = stub(harness).SynthesizeOnline()
    await call.write(request("One."))
    assert (await call.read()).audio
    await call.write(request("Two."))
    assert (await call.read()).audio
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF
    assert await call.code() is grpc.StatusCode.OK


async def test_everything_that_is_asked_is_honoured(harness: Harness):
    response = await stub(harness).Synthesize(
        request(
            '<speak>NVIDIA<break time="1s"/>data</speak>',
            language_code="en-GB",
            encoding=riva_audio_pb2.MULAW,
            sample_rate_hz=8_000,
            custom_dictionary="NVIDIA  ɛn.vɪ.diː.ʌ,data  D EY1 T AH0",
        )
    )
    assert len(response.audio) == round(1.2 * 8_000)
    assert harness.models.synthesizer.asked == [("heart", 0)] * 2


async def test_what_is_left_out_has_a_default(harness: Harness):
    response = await stub(harness).Synthesize(pb.SynthesizeSpeechRequest(text="One."))
    assert len(response.audio) == 2 * 2_400


@pytest.mark.parametrize(
    "voice",
    ["", "heart", "English-US.Female-1", "English-US-Female-1", "Magpie-Multilingual.EN-US.Aria", "English-US.Heart"],
)
async def test_names_of_american_voices_mean_the_one_that_there_is(harness: Harness, voice: str):
    assert (await stub(harness).Synthesize(request("One.", voice_name=voice))).audio


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"text": ""}, "EMPTY_TEXT", "text"),
        ({"text": "x" * 100_000}, "TEXT_TOO_LONG", "text"),
        ({"text": "\N{WAVING HAND SIGN}"}, "NOTHING_TO_SPEAK", "text"),
        ({"text": "<speak>"}, "BROKEN_SSML", "text"),
        ({"language_code": "de-DE"}, "UNSUPPORTED_LANGUAGE", "language_code"),
        ({"encoding": 99}, "UNKNOWN_ENCODING", "encoding"),
        ({"encoding": riva_audio_pb2.FLAC}, "UNSUPPORTED_ENCODING", "encoding"),
        ({"encoding": riva_audio_pb2.OGGOPUS, "sample_rate_hz": 22_050}, "SAMPLE_RATE_OUT_OF_RANGE", "sample_rate_hz"),
        ({"sample_rate_hz": -5}, "SAMPLE_RATE_OUT_OF_RANGE", "sample_rate_hz"),
        ({"voice_name": "Magpie-Multilingual.DE-DE.Jason"}, "UNKNOWN_VOICE", "voice_name"),
        ({"voice_name": "en-US" * 1_000}, "UNKNOWN_VOICE", "voice_name"),
        ({"zero_shot_data": pb.ZeroShotData(quality=20)}, "NO_ZERO_SHOT", "zero_shot_data"),
        ({"custom_configuration": {"speed": "2"}}, "UNKNOWN_OPTION", "custom_configuration[speed]"),
        ({"enable_word_time_offsets": True}, "NO_WORD_TIMES", "enable_word_time_offsets"),
        ({"custom_dictionary": "one space"}, "BAD_LEXICON_WORD", "custom_dictionary"),
        ({"custom_dictionary": "word  ж"}, "UNKNOWN_PHONEME", "custom_dictionary"),
    ],
)  # fmt: skip
async def test_what_cannot_be_honoured_is_refused_by_its_name(
    harness: Harness, fields: dict[str, object], reason: str, field: str
):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub(harness).Synthesize(request(**fields))
    assert_refused(refused.value, reason, field)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await online(harness, request(**fields))
    assert_refused(refused.value, reason, field)
    assert not harness.models.synthesizer.spoken


async def test_speech_that_no_message_holds_is_refused(harness: Harness, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_WHOLE_BYTES", 20_000)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub(harness).Synthesize(request("And so on. " * 100))
    assert_refused(refused.value, "SPEECH_TOO_LONG", "text")
    assert len(harness.models.synthesizer.spoken) < 10
    assert not harness.admission._taken.total()


async def test_a_stream_holds_a_place_only_while_it_speaks():
    async with Harness.running(max_conversations=1) as harness:
        call = stub(harness).SynthesizeOnline()
        await call.write(request("One."))
        await call.read()
        async with asyncio.timeout(5):
            while harness.admission._taken.total():
                await asyncio.sleep(0.01)
        assert (await stub(harness).Synthesize(request("Two."))).audio
        call.cancel()


async def test_a_stream_on_which_nothing_comes_ends():
    async with Harness.running(idle_seconds=0.2) as harness:
        call = stub(harness).SynthesizeOnline()
        await call.write(request("One."))
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            while await call.read() is not grpc.aio.EOF:
                pass
        assert ended.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert details_of(ended.value)["ErrorInfo"].reason == "IDLE"


async def test_the_voices_are_listed_as_nvidias_clients_read_them(harness: Harness):
    config = await stub(harness).GetRivaSynthesisConfig(pb.RivaSynthesisConfigRequest())
    (model,) = config.model_config
    assert model.model_name == "tts"
    name = f"{model.parameters['voice_name']}.{model.parameters['subvoices'].split(':')[0]}"
    assert model.parameters["language_code"] == "en-US"
    assert (await stub(harness).Synthesize(request("One.", voice_name=name))).audio
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub(harness).GetRivaSynthesisConfig(pb.RivaSynthesisConfigRequest(model_name="asr"))
    assert_refused(refused.value, "UNKNOWN_MODEL", "model_name")
