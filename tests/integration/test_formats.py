"""One recording in every format, through the public API: the same text as from WAV."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest
import soundfile
import soxr

import vivavoce
from demo.manifest import utterances
from tests.integration.bert_models import shared_data
from tests.integrations.recordings import words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SAID = next(utterance for utterance in utterances() if utterance.path.stem == "lights")
CONTAINER = vivavoce.AudioFormat(vivavoce.Encoding.CONTAINER, 0, 0)
CASES = {
    "two_wavs_concatenated.wav": 2,
    "wav_100k_chunk_before_data.wav": 1,
    "flac_with_id3v1_at_end.flac": 1,
    "opus_cut_in_last_page.opus": 1,
    "browser_recording.webm": 1,
}
SENTENCE = "turn off the lights in the bedroom please"


def samples_at(rate: int) -> np.ndarray:
    samples, own_rate = soundfile.read(SAID.path, dtype="float32")
    samples = soxr.resample(samples, own_rate, rate)
    # A second of silence in front and behind, as from a microphone.
    return np.concatenate([np.zeros(rate // 2), samples, np.zeros(rate)]).astype(np.float32)


def with_soundfile(container: str, subtype: str | None, rate: int = 16_000) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples_at(rate), rate, format=container, subtype=subtype)
    return buffer.getvalue()


def with_av(suffix: str, codec: str, options: dict[str, str] | None = None) -> bytes:
    rate = 48_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"recording.{suffix}")
        with av.open(str(path), "w", options=options or {}) as file:
            stream = file.add_stream(codec, rate=rate, layout="mono")
            samples = samples_at(rate)[np.newaxis]
            for start in range(0, samples.shape[1], 960):
                frame = av.AudioFrame.from_ndarray(samples[:, start : start + 960], format="flt", layout="mono")
                frame.sample_rate, frame.pts = rate, start
                file.mux(stream.encode(frame))
            file.mux(stream.encode(None))
        return path.read_bytes()


FRAGMENTED = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
FORMATS = {
    "WAV, 16 bits": lambda: with_soundfile("WAV", "PCM_16"),
    "WAV, 8 bits": lambda: with_soundfile("WAV", "PCM_U8"),
    "WAV, 24 bits": lambda: with_soundfile("WAV", "PCM_24"),
    "WAV, 32 bits": lambda: with_soundfile("WAV", "PCM_32"),
    "WAV, floats": lambda: with_soundfile("WAV", "FLOAT"),
    "RF64": lambda: with_soundfile("RF64", "PCM_16"),
    "Wave64": lambda: with_soundfile("W64", "PCM_16"),
    "FLAC": lambda: with_soundfile("FLAC", "PCM_16"),
    "AIFF": lambda: with_soundfile("AIFF", "PCM_16"),
    "CAF": lambda: with_soundfile("CAF", "PCM_16"),
    "Ogg Opus": lambda: with_soundfile("OGG", "OPUS", 48_000),
    "MP3": lambda: with_soundfile("MP3", None, 44_100),
    "WebM, Opus": lambda: with_av("webm", "libopus"),
    "MP4, AAC": lambda: with_av("mp4", "aac"),
    "MP4, AAC, fragmented": lambda: with_av("mp4", "aac", FRAGMENTED),
    "M4A, Apple Lossless": lambda: with_av("m4a", "alac"),
    "AAC": lambda: with_av("aac", "aac"),
}


async def pieces(data: bytes, size: int = 3_001) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def heard(address: str, data: bytes) -> str:
    async with vivavoce.connect(address) as client:
        events = client.converse(pieces(data), audio=CONTAINER, reply_budget_seconds=30.0)
        texts = [event.text async for event in events if isinstance(event, vivavoce.Transcript) and event.is_final]
    return " ".join(words(" ".join(texts)))


@pytest.mark.parametrize("name", FORMATS)
async def test_every_format_has_the_text_that_was_said(server_address: str, name: str):
    assert await heard(server_address, FORMATS[name]()) == " ".join(words(SAID.text))


@pytest.mark.parametrize("name", CASES)
async def test_what_once_came_out_wrong_is_heard(server_address: str, name: str):
    data = (shared_data("cases") / name).read_bytes()
    assert await heard(server_address, data) == " ".join([SENTENCE] * CASES[name])


@pytest.mark.parametrize("name", CASES)
async def test_files_that_once_came_out_wrong_are_read_by_the_sdk(server_address: str, name: str):
    recording = vivavoce.read_audio(shared_data("cases") / name)
    async with vivavoce.connect(server_address) as client:
        events = client.converse(recording.chunks(), audio=recording.format, reply_budget_seconds=30.0)
        texts = [event.text async for event in events if isinstance(event, vivavoce.Transcript) and event.is_final]
    assert words(" ".join(texts)) == (SENTENCE.split() * CASES[name])
