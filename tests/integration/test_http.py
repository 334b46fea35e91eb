"""The HTTP port of a real service, with real models: OpenAI's own client, curl, and callers that mean no good."""

from __future__ import annotations

import asyncio
import io
import subprocess
import time
import wave
from typing import TYPE_CHECKING

import aiohttp
import numpy as np
import openai
import psutil
import pytest
import soundfile

import vivavoce
from demo.manifest import FOLDER, utterances
from service.processes.child_process import http_url_of, listening
from tests.fast_service import SPEED
from tests.integration.realtime_client import exchange, is_done, is_transcribed, pcm_of, speak
from tests.integrations.recordings import LIGHTS, words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.integration.conftest import Service, Triton

RECORDINGS = FOLDER / "recordings"
QUESTION = next(one for one in utterances() if one.path.stem == "museum_boat")
DOCUMENTS = [{"id": one.id, "text": one.text} for one in QUESTION.documents()]
MINUTES = 10
SESSION = {"type": "realtime", "vivavoce": {"documents": DOCUMENTS}}


@pytest.fixture
async def client(http_url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{http_url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
async def fast_client(fast_service: Service) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client of the faster service."""
    async with openai.AsyncOpenAI(base_url=f"{fast_service.http_url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_openais_synchronous_client_transcribes_and_speaks(http_url: str, tmp_path: Path):
    with openai.OpenAI(base_url=f"{http_url}/v1", api_key="none", max_retries=0) as client:
        with (RECORDINGS / "lights.flac").open("rb") as file:
            found = client.audio.transcriptions.create(
                file=file,
                model="whisper-1",
                response_format="verbose_json",
                timestamp_granularities=["word", "segment"],
            )
        assert words(found.text) == LIGHTS
        assert words(" ".join(word.word for word in found.words or ())) == LIGHTS
        assert all(word.start < word.end <= found.duration for word in found.words or ())
        spoken = tmp_path / "speech.flac"
        with client.audio.speech.with_streaming_response.create(
            model="tts-1", voice="alloy", input="Turn off the lights in the bedroom please.", response_format="flac"
        ) as response:
            response.stream_to_file(spoken)
        with spoken.open("rb") as file:
            assert words(client.audio.transcriptions.create(file=file, model="whisper-1").text) == LIGHTS


async def test_openais_asynchronous_client_streams(client: openai.AsyncOpenAI):
    with (RECORDINGS / "lights.flac").open("rb") as file:
        stream = await client.audio.transcriptions.create(file=file, model="gpt-4o-transcribe", stream=True)
        events = [event async for event in stream]
    assert events[-1].type == "transcript.text.done"
    assert words(events[-1].text) == LIGHTS
    assert "".join(event.delta for event in events[:-1]) == events[-1].text


def test_curl_transcribes(http_url: str):
    form = ("-F", f"file=@{RECORDINGS / 'lights.flac'}", "-F", "model=whisper-1", "-F", "response_format=srt")
    done = subprocess.run(["curl", "-sS", f"{http_url}/v1/audio/transcriptions", *form], capture_output=True, text=True)
    number, times, text = done.stdout.splitlines()[:3]
    assert (number, " --> " in times, words(text)) == ("1", True, LIGHTS)


async def test_a_realtime_conversation_answers_aloud_as_grpc_does(fast_client: openai.AsyncOpenAI, fast_address: str):
    async with fast_client.realtime.connect(model="gpt-realtime") as connection:
        await connection.session.update(session=SESSION)
        events = await exchange(connection, pcm_of(QUESTION.path), is_done, times=SPEED)
    by_type = {event.type: event for event in events}
    item = events[-1].response.output[0]
    async with vivavoce.connect(fast_address) as grpc_client:
        recording = vivavoce.read_audio(QUESTION.path)
        told = grpc_client.converse(recording.chunks(), audio=recording.format, documents=QUESTION.documents())
        (reply,) = [event async for event in told if isinstance(event, vivavoce.Reply)]
    assert by_type["conversation.item.input_audio_transcription.completed"].transcript == reply.transcript
    assert item.vivavoce["answer"]["text"] == reply.answer.text
    assert QUESTION.answer.lower() in item.content[0].transcript.lower()
    assert sum(event.type == "response.output_audio.delta" for event in events) > 3


async def test_a_realtime_transcription_session_is_as_good_with_g711(client: openai.AsyncOpenAI):
    import audioop  # noqa: PLC0415 - goes with Python 3.13

    samples, rate = soundfile.read(RECORDINGS / "lights.flac", dtype="int16")
    half, _ = audioop.ratecv(samples.tobytes(), 2, 1, rate, 8_000, None)
    mulaw = audioop.lin2ulaw(half, 2) + b"\xff" * 12_000
    session = {"type": "transcription", "audio": {"input": {"format": {"type": "audio/pcmu"}}}}
    async with client.realtime.connect(model="gpt-4o-transcribe") as connection:
        await connection.session.update(session=session)
        events = await exchange(connection, mulaw, is_transcribed, times=None)
    assert words(events[-1].transcript) == LIGHTS


async def test_speech_over_a_spoken_reply_stops_it(fast_client: openai.AsyncOpenAI):
    async with fast_client.realtime.connect(model="gpt-realtime") as connection:
        await connection.session.update(session=SESSION)
        question, is_spoken = pcm_of(QUESTION.path), lambda event: event.type == "response.output_audio.delta"
        await exchange(connection, question, is_spoken, times=SPEED)
        events = await exchange(
            connection,
            pcm_of(RECORDINGS / "lights.flac"),
            lambda event: is_done(event) and event.response.output[0].vivavoce["turn"] == 2,
            times=SPEED,
        )
    stopped, answered = [event.response for event in events if is_done(event)]
    assert (stopped.status, stopped.status_details.reason) == ("cancelled", "turn_detected")
    assert (answered.status, answered.output[0].vivavoce["intent"]["name"]) == ("completed", "iot_hue_lightoff")


async def test_ten_minutes_take_no_more_memory_than_one(full_service: Service):
    """Sent as fast as it is taken; most of it is silence, which the recognizer is spared."""
    samples, rate = soundfile.read(RECORDINGS / "lights.flac", dtype="int16")
    minute = np.zeros(60 * 48_000, "<i2")
    spoken = np.repeat(samples, 48_000 // rate)
    minute[: len(spoken)] = spoken

    async def form() -> AsyncIterator[bytes]:
        header = io.BytesIO()
        with wave.open(header, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(48_000)
            file.setnframes(MINUTES * len(minute))
            file.writeframesraw(b"")
        yield b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--x\r\n'
        head = bytearray(header.getvalue())
        size = MINUTES * minute.nbytes
        head[4:8], head[40:44] = (size + 36).to_bytes(4, "little"), size.to_bytes(4, "little")
        yield b'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n' + bytes(head)
        for _ in range(MINUTES):
            data = minute.tobytes()
            for start in range(0, len(data), 1 << 18):
                yield data[start : start + (1 << 18)]
        yield b"\r\n--x--\r\n"

    url = f"{full_service.http_url}/v1/audio/transcriptions"
    memory = psutil.Process(full_service.process.pid).memory_info
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=300)) as session:
        before, most = memory().rss, 0
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        posting = asyncio.create_task(session.post(url, data=form(), headers=headers))
        while not posting.done():
            most = max(most, memory().rss)
            await asyncio.sleep(0.05)
        found = await (await posting).json()
    assert found["usage"]["seconds"] == pytest.approx(60 * MINUTES, abs=1)
    assert words(found["text"]) == LIGHTS * MINUTES
    # The file alone has 58 MB, and as the samples that the recognizer takes 38.
    assert most - before < 25 << 20


async def test_a_shutdown_lets_the_turn_end_and_tells_why(triton: Triton, tmp_path: Path):
    arguments = ["-m", "vivavoce", "serve", "--port", "0", "--http-port", "0", "--triton", triton.address]
    with listening([*arguments, "--max-conversations", "4"], tmp_path / "log.txt") as (process, _):
        url = http_url_of(process)
        async with (
            openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
            client.realtime.connect(model="gpt-realtime") as connection,
        ):
            await connection.session.update(session={**SESSION, "output_modalities": ["text"]})
            speaking = asyncio.create_task(speak(connection, pcm_of(QUESTION.path)))
            seen = []
            async for event in connection:
                seen.append(event.type)
                if event.type == "input_audio_buffer.speech_started":
                    process.terminate()
                if event.type == "error":
                    break
            speaking.cancel()
        assert event.error.code == "not_ready"
        assert "response.done" in seen
        began = time.monotonic()
        process.wait(20)
        assert time.monotonic() - began < 15
