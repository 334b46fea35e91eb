"""``Say`` on a real socket, with a fake voice behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import numpy as np
import pytest

from pipelines.errors import ModelUnavailableError
from service.grpc_server import response_writer
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import assert_refused, details_of
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness.running() as running:
        yield running


async def say(harness: Harness, **fields: object) -> list[pb.SayResponse]:
    return [response async for response in harness.stub.Say(pb.SayRequest(**fields), timeout=10)]


async def test_a_text_is_spoken(harness: Harness):
    responses = await say(harness, text="It is 9:30. Goodbye.")
    assert harness.models.synthesizer.spoken == ["It is nine thirty.", "Goodbye."]
    samples = np.frombuffer(b"".join(response.audio for response in responses), "<i2")
    assert len(samples) == round(0.55 * 24_000)
    marks = [(mark.text, mark.start.ToMilliseconds()) for one in responses for mark in one.sentences]
    assert marks == [("It is 9:30.", 0), ("Goodbye.", 450)]


async def test_everything_that_is_asked_is_honoured(harness: Harness):
    responses = await say(
        harness,
        ssml='<speak>Vivavoce<break time="1s"/>there</speak>',
        voice="heart",
        language_code="en-GB",
        encoding=pb.AUDIO_ENCODING_MULAW,
        sample_rate_hz=8_000,
        speed=1.5,
        seed=42,
        lexicon=[pb.LexiconEntry(word="vivavoce", phonemes="viva"), pb.LexiconEntry(word="there", alias="here")],
    )
    assert sum(len(response.audio) for response in responses) == round(1.2 * 8_000)
    assert harness.models.synthesizer.spoken == ["Vivavoce", "here"]
    assert harness.models.synthesizer.asked == [("heart", 42), ("heart", 42)]


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({}, "EMPTY_TEXT", "text"),
        ({"text": " "}, "EMPTY_TEXT", "text"),
        ({"text": "x" * 100_000}, "TEXT_TOO_LONG", "text"),
        ({"text": "\N{WAVING HAND SIGN}"}, "NOTHING_TO_SPEAK", "text"),
        ({"text": "a\0b"}, "CONTROL_CHARACTER", "text"),
        ({"ssml": "<speak>"}, "BROKEN_SSML", "ssml"),
        ({"ssml": "x" * 100_000}, "TEXT_TOO_LONG", "ssml"),
        ({"ssml": "<speak></speak>"}, "NOTHING_TO_SPEAK", "ssml"),
        ({"text": "x", "voice": "nobody"}, "UNKNOWN_VOICE", "voice"),
        ({"text": "x", "language_code": "de-DE"}, "UNSUPPORTED_LANGUAGE", "language_code"),
        ({"text": "x", "encoding": 99}, "UNKNOWN_ENCODING", "encoding"),
        ({"text": "x", "encoding": pb.AUDIO_ENCODING_FLAC}, "UNSUPPORTED_ENCODING", "encoding"),
        ({"text": "x", "sample_rate_hz": 96_000}, "SAMPLE_RATE_OUT_OF_RANGE", "sample_rate_hz"),
        ({"text": "x", "sample_rate_hz": -1}, "SAMPLE_RATE_OUT_OF_RANGE", "sample_rate_hz"),
        (
            {"text": "x", "encoding": pb.AUDIO_ENCODING_OGGOPUS, "sample_rate_hz": 22_050},
            "SAMPLE_RATE_OUT_OF_RANGE",
            "sample_rate_hz",
        ),
        ({"text": "x", "speed": 9}, "SPEED_OUT_OF_RANGE", "speed"),
        ({"text": "x", "speed": float("nan")}, "SPEED_OUT_OF_RANGE", "speed"),
        ({"text": "x", "seed": -1}, "SEED_OUT_OF_RANGE", "seed"),
        ({"text": "x", "lexicon": [pb.LexiconEntry(word="x")]}, "BAD_LEXICON_WORD", "lexicon"),
    ],
)
async def test_what_cannot_be_spoken_is_refused_with_its_field(
    harness: Harness, fields: dict[str, object], reason: str, field: str
):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await say(harness, **fields)
    assert_refused(refused.value, reason, field)
    assert not harness.models.synthesizer.spoken


async def test_a_model_that_is_not_there_is_told_as_such(harness: Harness, monkeypatch: pytest.MonkeyPatch):
    async def speak(*_: object) -> AsyncIterator[np.ndarray]:
        raise ModelUnavailableError("the model server cannot be reached for tts: try again soon")
        yield

    monkeypatch.setattr(harness.models.synthesizer, "speak", speak)
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await say(harness, text="Hello.")
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "RetryInfo" in details_of(failed.value)


async def test_places_are_those_of_typed_turns():
    async with Harness.running(max_conversations=1) as harness:
        text = "And so on. " * 900
        speaking = harness.stub.Say(pb.SayRequest(text=text, encoding=pb.AUDIO_ENCODING_LINEAR_PCM_FLOAT32))
        await speaking.read()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await say(harness, text="Hello.")
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        speaking.cancel()
        async with asyncio.timeout(5):
            while harness.admission._taken.total():
                await asyncio.sleep(0.01)
        assert await say(harness, text="Hello.")
        assert len(harness.models.synthesizer.spoken) < 900


async def test_nobody_is_let_in_before_the_models_are_ready():
    async with Harness.running(ready=False) as harness:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await say(harness, text="Hello.")
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_caller_who_does_not_read_loses_the_place(harness: Harness, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(response_writer, "WRITE_SECONDS", 0.3)
    text = "And so on. " * 900
    call = harness.stub.Say(pb.SayRequest(text=text, encoding=pb.AUDIO_ENCODING_LINEAR_PCM_FLOAT32))
    await call.read()
    async with asyncio.timeout(10):
        while harness.admission._taken.total():
            await asyncio.sleep(0.05)
    assert len(harness.models.synthesizer.spoken) < 900
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        while await call.read() is not grpc.aio.EOF:
            pass
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
