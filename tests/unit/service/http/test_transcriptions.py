"""Recordings over ``/v1/audio/transcriptions``, with models that answer by arithmetic."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import wave
from typing import TYPE_CHECKING

import aiohttp
import openai
import pytest

from pipelines.data.messages import Transcript
from pipelines.data.recognition import RecognitionOptions, TimedWord
from pipelines.models.languages import Languages
from pipelines.models.shipped import SHIPPED
from service.api.http.openai import uploads
from service.api.http.openai.hints import to_hints
from service.api.http.openai.transcription_request import TranscriptionRequest
from service.api.http.openai.transcripts import MAX_CUE_CHARACTERS, cues_of, written
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.http.running import Openai

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def recording(seconds: float) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as audio:
        audio.setnchannels(1)
        audio.setsampwidth(2)
        audio.setframerate(16_000)
        audio.writeframes(bytes(2 * round(16_000 * seconds)))
    return file.getvalue()


THREE_SECONDS = recording(2.95)


def form(*parts: tuple[str, str | bytes]) -> aiohttp.FormData:
    data = aiohttp.FormData()
    for name, value in parts:
        if isinstance(value, bytes):
            data.add_field(name, value, filename="a.wav", content_type="audio/wav")
        else:
            data.add_field(name, value)
    return data


async def posted(service: Openai, *parts: tuple[str, str | bytes]) -> tuple[int, str]:
    async with service.session.post("/v1/audio/transcriptions", data=form(*parts)) as response:
        return response.status, await response.text()


async def test_openais_client_gets_the_text(service: Openai):
    async with service.client as client:
        found = await client.audio.transcriptions.create(file=("a.wav", THREE_SECONDS), model="whisper-1")
        assert found.text == "w0 w1 w2"
        assert found.usage.seconds == pytest.approx(3, abs=0.1)
        text = await client.audio.transcriptions.create(
            file=("a.wav", THREE_SECONDS), model="gpt-4o-transcribe", response_format="text", language="en"
        )
        assert text.strip() == "w0 w1 w2"
    assert service.host.open_conversations.count == 0
    assert service.host.admission.quotas.audio_seconds == pytest.approx(6, abs=0.2)


async def test_openais_client_gets_words_and_segments(service: Openai):
    async with service.client as client:
        found = await client.audio.transcriptions.create(
            file=("a.wav", THREE_SECONDS),
            model="whisper-1",
            response_format="verbose_json",
            timestamp_granularities=["word", "segment"],
        )
    assert service.models.sequences[-1].options.word_times
    assert (found.text, found.language) == ("w0 w1 w2", "english")
    assert [segment.text for segment in found.segments or ()] == ["w0 w1 w2"]
    assert (found.segments or [])[0].start == pytest.approx(0, abs=0.1)


async def test_openais_client_streams_the_text(service: Openai):
    async with service.client as client:
        stream = await client.audio.transcriptions.create(
            file=("a.wav", THREE_SECONDS), model="gpt-4o-mini-transcribe", stream=True
        )
        events = [event async for event in stream]
    assert [event.type for event in events] == ["transcript.text.delta", "transcript.text.done"]
    assert "".join(event.delta for event in events[:-1]) == events[-1].text == "w0 w1 w2"


async def test_fields_may_come_behind_the_file_as_curl_sends_them(service: Openai):
    parts = (("file", THREE_SECONDS), ("model", "whisper-1"), ("prompt", "Ada Lovelace"), ("response_format", "srt"))
    status, text = await posted(service, *parts)
    assert (status, text.split("\n")[0::2]) == (200, ["1", "w0 w1 w2"])
    assert [hint.phrase for hint in service.models.sequences[-1].options.hints] == ["Ada Lovelace"]
    late = (("model", "whisper-1"), ("file", THREE_SECONDS), ("prompt", "Ada Lovelace"))
    status, text = await posted(service, *late)
    assert (status, json.loads(text)["reason"], json.loads(text)["field"]) == (400, "FIELD_TOO_LATE", "prompt")
    harmless = (("model", "whisper-1"), ("file", THREE_SECONDS), ("model", "vivavoce"), ("stream", "true"))
    status, text = await posted(service, *harmless)
    assert status == 200
    assert '"transcript.text.done", "text": "w0 w1 w2"' in text


async def test_a_recording_is_recognized_while_it_is_uploaded(service: Openai):
    heard = asyncio.Event()

    async def upload() -> AsyncIterator[bytes]:
        head = (
            b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n'
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
        )
        yield head + THREE_SECONDS[:64_000]
        async with asyncio.timeout(5):
            while not service.models.sequences:
                await asyncio.sleep(0.01)
        heard.set()
        yield THREE_SECONDS[64_000:] + b"\r\n--x--\r\n"

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    async with service.session.post("/v1/audio/transcriptions", data=upload(), headers=headers) as response:
        assert (await response.json())["text"] == "w0 w1 w2"
    assert heard.is_set()


@pytest.mark.parametrize(
    ("parts", "status", "reason", "field"),
    [
        ((("file", b""),), 400, "EMPTY_AUDIO", "file"),
        ((("file", b"PK\x03\x04" + bytes(100)),), 415, "UNDECODABLE_AUDIO", "file"),
        ((("file", b"no audio at all, in fact" * 100),), 415, "UNDECODABLE_AUDIO", "file"),
        ((("file", THREE_SECONDS), ("file", THREE_SECONDS)), 400, "SECOND_FILE", "file"),
        ((("model", "gpt-5"), ("file", THREE_SECONDS)), 404, "UNKNOWN_MODEL", "model"),
        ((("model", "gpt-4o-transcribe-diarize"), ("file", THREE_SECONDS)), 400, "NO_SPEAKER_DIARIZATION", "model"),
        ((("language", "de"), ("file", THREE_SECONDS)), 400, "UNSUPPORTED_LANGUAGE", "language"),
        (
            (("response_format", "diarized_json"), ("file", THREE_SECONDS)),
            400,
            "NO_SPEAKER_DIARIZATION",
            "response_format",
        ),
        (
            (("model", "whisper-1"), ("file", THREE_SECONDS), ("response_format", "diarized_json")),
            400,
            "FIELD_TOO_LATE",
            "response_format",
        ),
        ((("stream", "perhaps"), ("file", THREE_SECONDS)), 400, "BAD_FLAG", "stream"),
        (
            (("timestamp_granularities[]", "hour"), ("file", THREE_SECONDS)),
            400,
            "UNKNOWN_GRANULARITY",
            "timestamp_granularities",
        ),
        (
            (("known_speaker_names[]", "x"), ("file", THREE_SECONDS)),
            400,
            "NO_KNOWN_SPEAKERS",
            "known_speaker_names",
        ),
        ((("prompt", "x" * (200 << 10)), ("file", THREE_SECONDS)), 400, "FIELD_TOO_LONG", "body"),
        ((("keywords[]", "x" * 100), ("file", THREE_SECONDS)), 400, "PHRASES_TOO_LONG", "keywords"),
    ],
)
async def test_what_cannot_be_served_is_named(
    service: Openai, parts: tuple[tuple[str, str | bytes], ...], status: int, reason: str, field: str
):
    found, text = await posted(service, *parts)
    problem = json.loads(text)
    assert (found, problem["reason"], problem["field"]) == (status, reason, field)
    assert service.host.open_conversations.count == 0
    # Others are served as before.
    assert (await posted(service, ("file", THREE_SECONDS)))[0] == 200


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/json", b"{}", 415),
        ("multipart/form-data", b"", 415),
        ("multipart/form-data; boundary=x", b"--y\r\n", 400),
        ("multipart/form-data; boundary=" + "x" * 201, b"--x\r\n", 400),
        ("multipart/form-data; boundary=" + "x" * 5_000, b"--x\r\n", 400),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--', 400),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nRIFF', 400),
        ("multipart/form-data; boundary=x", b"--x\r\n" + b"a" * (200 << 10), 400),
    ],
)
async def test_a_body_that_is_no_form_is_refused(service: Openai, content_type: str, body: bytes, status: int):
    headers = {"Content-Type": content_type}
    async with service.session.post("/v1/audio/transcriptions", data=body, headers=headers) as response:
        assert response.status == status


async def test_an_upload_that_is_too_long_is_refused(service: Openai, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 10_000)
    status, text = await posted(service, ("file", THREE_SECONDS))
    assert (status, json.loads(text)["reason"]) == (413, "RECORDING_TOO_LARGE")

    async def endless() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        while True:
            yield bytes(5_000)
            await asyncio.sleep(0.01)

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    async with service.session.post("/v1/audio/transcriptions", data=endless(), headers=headers) as response:
        assert response.status == 413


async def test_whoever_leaves_gives_his_place_back(service: Openai):
    async def stuck() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--x\r\n'
        yield b'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + THREE_SECONDS
        await asyncio.sleep(60)

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    posting = asyncio.create_task(service.session.post("/v1/audio/transcriptions", data=stuck(), headers=headers))
    async with asyncio.timeout(5):
        while not service.models.sequences:
            await asyncio.sleep(0.01)
        posting.cancel()
        while service.host.open_conversations.count:
            await asyncio.sleep(0.01)


async def test_a_recognizer_that_fails_is_told_with_the_right_status(service: Openai):
    service.models.fail.add("asr")
    async with service.client as client:
        with pytest.raises(openai.InternalServerError):
            await client.audio.transcriptions.create(file=("a.wav", THREE_SECONDS), model="whisper-1")


async def test_a_stream_that_fails_on_the_way_says_so(service: Openai):
    begun = asyncio.Event()

    async def upload() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="stream"\r\n\r\ntrue\r\n'
        yield b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--x\r\n'
        yield b'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + recording(30)
        async with asyncio.timeout(5):
            while not service.models.sequences:
                await asyncio.sleep(0.01)
            service.voice.probability = 0.0
            yield bytes(32_000 * 5)
            await begun.wait()
        yield b'\r\n--x\r\nContent-Disposition: form-data; name="prompt"\r\n\r\ntoo late\r\n--x--\r\n'

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    async with service.session.post("/v1/audio/transcriptions", data=upload(), headers=headers) as response:
        assert response.status == 200
        begun.set()
        text = await response.text()
    assert "transcript.text.delta" in text
    assert '"code": "field_too_late"' in text.split("event: error", 1)[1]


async def test_there_is_room_for_so_many():
    async with Openai.running(max_conversations=1) as service:
        with service.host.admission.conversation():
            async with service.client as client:
                with pytest.raises(openai.RateLimitError):
                    await client.audio.transcriptions.create(file=("a.wav", THREE_SECONDS), model="whisper-1")


def test_a_prompt_becomes_phrases_and_long_sentences_do_not():
    prompt = "Ada Lovelace, Ångström; The following is a talk about the history of computers in the last century. 42"
    hints = to_hints(prompt, ["Babbage"], "prompt", "keywords")
    assert [hint.phrase for hint in hints] == ["Babbage", "Ada Lovelace", "Ångström"]


def test_subtitles_are_short_enough_to_be_read():
    words = tuple(TimedWord(f"word{at}", 8000 * at, 8000 * at + 6000) for at in range(60))
    utterance = Transcript(1, " ".join(word.text for word in words), True, 0, 8000 * 60, words=words)
    cues = list(cues_of([utterance]))
    assert " ".join(cue.text for cue in cues) == utterance.text
    assert all(len(cue.text) <= MAX_CUE_CHARACTERS and cue.end - cue.start <= 6 for cue in cues)
    assert all(before.end <= after.start for before, after in itertools.pairwise(cues))
    srt = written([utterance], 30.0, TranscriptionRequest("srt")).decode()
    assert srt.startswith("1\n00:00:00,000 --> 00:00:05,")
    vtt = written([utterance], 30.0, TranscriptionRequest("vtt")).decode()
    assert vtt.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:05.")


MANY = Languages(("auto", "en", "de", "fr"), translates=True)


@pytest.mark.parametrize(
    ("path", "parts", "asked", "told"),
    [
        ("transcriptions", {"language": "en"}, {"language": "en"}, "english"),
        ("transcriptions", {"language": "German"}, {"language": "de"}, "german"),
        ("transcriptions", {"language": "fr-CA", "model": "whisper"}, {"language": "fr"}, "french"),
        ("translations", {"model": "whisper-1"}, {"translate": True}, "english"),
        ("translations", {"language": "de"}, {"language": "de", "translate": True}, "english"),
    ],
)
async def test_language_and_task_reach_the_recognizer(
    path: str, parts: dict[str, str], asked: dict[str, object], told: str
):
    engines = SHIPPED.with_variant("asr", "whisper")
    models = FakeModels(0.001, 0.001, 0.001, languages=MANY)
    async with Openai.running(engines=engines, models=models) as service:
        data = form(*parts.items(), ("response_format", "verbose_json"), ("file", THREE_SECONDS))
        async with service.session.post(f"/v1/audio/{path}", data=data) as response:
            found = json.loads(await response.text())
    assert {one.options for one in models.sequences} == {RecognitionOptions(**asked)}
    assert (found["task"], found["language"]) == ("translate" if path == "translations" else "transcribe", told)


@pytest.mark.parametrize(
    ("path", "parts", "code", "says"),
    [
        ("transcriptions", {"language": "de"}, "unsupported_language", "choose en"),
        ("translations", {}, "no_translation", "vivavoce import whisper"),
    ],
)
async def test_what_the_recognizer_lacks_is_refused(
    service: Openai, path: str, parts: dict[str, str], code: str, says: str
):
    data = form(*parts.items(), ("file", THREE_SECONDS))
    async with service.session.post(f"/v1/audio/{path}", data=data) as response:
        error = json.loads(await response.text())["error"]
    assert (response.status, error["code"]) == (400, code)
    assert says in error["message"]


async def test_a_language_behind_the_file_came_too_late():
    async with Openai.running(models=FakeModels(0.001, 0.001, 0.001, languages=MANY)) as service:
        status, text = await posted(service, ("model", "whisper-1"), ("file", THREE_SECONDS), ("language", "de"))
    assert (status, json.loads(text)["reason"]) == (400, "FIELD_TOO_LATE")
