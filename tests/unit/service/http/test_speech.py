"""Texts over ``/v1/audio/speech``, and the list of models."""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import openai
import pytest
import soundfile

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import AudioFormat, Encoding

if TYPE_CHECKING:
    from tests.unit.service.http.running import Openai

TEXT = "The museum is open until five. It is closed on Mondays."


def seconds_of(file: bytes) -> float:
    decoder = AudioDecoder(AudioFormat(Encoding.CONTAINER))
    samples = np.concatenate([*decoder.decode(file), decoder.flush()])
    assert decoder.take_damage() == []
    return len(samples) / 16_000


@pytest.mark.parametrize("kind", ["mp3", "opus", "aac", "flac", "wav"])
async def test_openais_client_gets_a_file_of_every_kind(service: Openai, kind: str):
    async with service.client as client:
        pcm = await client.audio.speech.create(model="tts-1", voice="alloy", input=TEXT, response_format="pcm")
        file = await client.audio.speech.create(model="tts-1", voice="heart", input=TEXT, response_format=kind)
    assert seconds_of(file.content) == pytest.approx(len(pcm.content) / 48_000, abs=0.08)
    assert service.host.admission.quotas.present == 0


async def test_the_kind_is_mp3_where_none_is_named(service: Openai):
    async with service.session.post("/v1/audio/speech", json={"model": "tts-1", "input": TEXT}) as response:
        assert response.content_type == "audio/mpeg"
        assert seconds_of(await response.read()) > 0.3


async def test_speech_comes_as_events_where_they_are_asked_for(service: Openai):
    body = {"model": "gpt-4o-mini-tts", "input": TEXT, "voice": {"id": "coral"}, "response_format": "pcm"}
    async with service.session.post("/v1/audio/speech", json=body) as response:
        whole = await response.read()
    async with service.session.post("/v1/audio/speech", json={**body, "stream_format": "sse"}) as response:
        assert response.content_type == "text/event-stream"
        events = [json.loads(line[6:]) for line in (await response.text()).splitlines() if line]
    assert [event["type"] for event in events[-2:]] == ["speech.audio.delta", "speech.audio.done"]
    assert b"".join(base64.b64decode(event["audio"]) for event in events[:-1]) == whole


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"input": " "}, 400, "input"),
        ({"input": "x" * 20_000}, 400, "input"),
        ({"input": 7}, 400, "input"),
        ({"voice": "wolf"}, 400, "voice"),
        ({"model": "gpt-5"}, 404, "model"),
        ({"speed": 9}, 400, "speed"),
        ({"response_format": "ogg"}, 400, "response_format"),
        ({"stream_format": "smoke"}, 400, "stream_format"),
    ],
)
async def test_what_cannot_be_spoken_is_named(service: Openai, changes: dict[str, object], status: int, field: str):
    body = {"model": "tts-1", "input": TEXT, "voice": "alloy", **changes}
    async with service.session.post("/v1/audio/speech", json=body) as response:
        assert response.status == status
        assert (await response.json(content_type=None))["field"] == field


@pytest.mark.parametrize("text", ["...", "***", "\N{THUMBS UP SIGN}"])
async def test_signs_alone_are_a_short_silence(service: Openai, text: str):
    body = {"model": "tts-1", "input": text, "voice": "alloy", "response_format": "wav"}
    async with service.session.post("/v1/audio/speech", json=body) as response:
        assert response.status == 200
        samples, rate = soundfile.read(io.BytesIO(await response.read()))
    assert 0.2 <= len(samples) / rate <= 0.5
    assert not samples.any()


@pytest.mark.parametrize("prolog", ["", "\ufeff", "<?xml version='1.0' encoding='UTF-8'?>\n"])
async def test_a_document_of_ssml_is_known_by_its_root(service: Openai, prolog: str):
    body = {"model": "tts-1", "input": f"{prolog}<speak>Good morning.</speak>", "voice": "alloy"}
    async with service.session.post("/v1/audio/speech", json=body) as response:
        assert response.status == 200
        await response.read()
    assert service.models.synthesizer.spoken == ["Good morning."]


@pytest.mark.parametrize(
    ("data", "content_type", "status"),
    [
        (b"no JSON", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"{}", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b" " * (600 << 10), "application/json", 413),
    ],
)
async def test_a_body_that_is_no_request_is_refused(service: Openai, data: bytes, content_type: str, status: int):
    headers = {"Content-Type": content_type}
    async with service.session.post("/v1/audio/speech", data=data, headers=headers) as response:
        assert response.status == status


async def test_a_voice_that_fails_is_told_with_the_right_status(service: Openai):
    service.models.synthesizer.fails_at = 1
    async with service.client as client:
        with pytest.raises(openai.InternalServerError):
            await client.audio.speech.create(model="tts-1", voice="alloy", input=TEXT)


async def test_the_models_are_told(service: Openai):
    async with service.client as client:
        assert {model.id async for model in client.models.list()} >= {"vivavoce", "asr", "tts"}
        assert (await client.models.retrieve("vivavoce")).id == "vivavoce"
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("gpt-5")
