"""Speech as callers get it; decoded again by the decoders that have tests of their own."""

from __future__ import annotations

import numpy as np
import pytest

from pipelines.audio.decoding import channel_decoder
from pipelines.audio.encoding import OPUS_RATES_HZ, SPEECH_ENCODINGS, SpeechEncoder, SpeechFormat
from pipelines.audio.formats import Encoding
from pipelines.audio.raw import G711_TABLES
from pipelines.errors import InvalidInputError

TONE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(48_000) / 24_000)).astype(np.float32)
RATES_HZ = (8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000)


def encoded(audio_format: SpeechFormat, samples: np.ndarray = TONE, block: int = 7_200) -> list[bytes]:
    encoder = SpeechEncoder(audio_format)
    blocks = [encoder.encode(samples[start : start + block]) for start in range(0, len(samples), block)]
    return [*blocks, encoder.flush()]


def decoded(audio_format: SpeechFormat, audio: bytes) -> np.ndarray:
    rate = 0 if audio_format.encoding is Encoding.OGGOPUS else audio_format.sample_rate_hz
    decoder = channel_decoder(audio_format.encoding, rate, 1, 1)
    return np.concatenate([channel for (channel,) in [*decoder.decode(audio), decoder.flush()]])


@pytest.mark.parametrize("encoding", SPEECH_ENCODINGS)
@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_what_is_encoded_is_heard(encoding: Encoding, rate_hz: int):
    if encoding is Encoding.OGGOPUS and rate_hz not in OPUS_RATES_HZ:
        with pytest.raises(InvalidInputError, match="8000, 12000, 16000, 24000, 48000"):
            SpeechFormat(encoding, rate_hz)
        return
    audio_format = SpeechFormat(encoding, rate_hz)
    heard = decoded(audio_format, b"".join(encoded(audio_format)))
    assert len(heard) / 16_000 == pytest.approx(2.0, abs=0.02)
    middle = heard[4_000:28_000]
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.02)
    spectrum = np.abs(np.fft.rfft(middle))
    assert np.argmax(spectrum) * 16_000 / len(middle) == pytest.approx(440, abs=1)


@pytest.mark.parametrize("encoding", SPEECH_ENCODINGS)
def test_audio_goes_out_as_it_comes(encoding: Encoding):
    blocks = encoded(SpeechFormat(encoding, 16_000))
    assert all(blocks[:-1])


def test_the_first_opus_goes_out_within_a_third_of_a_second():
    assert len(encoded(SpeechFormat(Encoding.OGGOPUS, 24_000))[0]) > 400


@pytest.mark.parametrize("encoding", [Encoding.MULAW, Encoding.ALAW])
def test_g711_takes_the_nearest_value(encoding: Encoding):
    values = np.linspace(-1.2, 1.2, 2_001, dtype=np.float32)
    table = G711_TABLES[encoding]
    found = table[np.frombuffer(encoded(SpeechFormat(encoding, 24_000), values)[0], np.uint8)]
    nearest = np.abs(np.clip(values, -1, 1)[:, None] - table[None]).min(axis=1)
    assert np.abs(np.abs(np.clip(values, -1, 1) - found) - nearest).max() < 1e-6


def test_what_is_too_loud_is_cut_and_does_not_wrap():
    loud = np.array([-2, -1, 0, 1, 2], np.float32)
    (pcm, _) = encoded(SpeechFormat(), loud)
    assert np.frombuffer(pcm, "<i2").tolist() == [-32767, -32767, 0, 32767, 32767]


@pytest.mark.parametrize(
    ("encoding", "rate_hz", "field"),
    [
        (Encoding.FLAC, 16_000, "encoding"),
        (Encoding.LINEAR_PCM, 7_999, "sample_rate_hz"),
        (Encoding.LINEAR_PCM, 48_001, "sample_rate_hz"),
        (Encoding.LINEAR_PCM, 0, "sample_rate_hz"),
    ],
)
def test_other_formats_are_refused(encoding: Encoding, rate_hz: int, field: str):
    with pytest.raises(InvalidInputError) as refused:
        SpeechFormat(encoding, rate_hz)
    assert refused.value.field == field
