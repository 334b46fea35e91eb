"""Sound as people send it, through the public API: quiet, crooked, cut off, noisy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jiwer
import numpy as np
import pytest

import vivavoce
from demo.manifest import utterances
from modelkit.evaluation.degradation import Degradation
from modelkit.evaluation.partials import repeats, words
from modelkit.evaluation.recordings import Clip, read_clip
from tests.integration.bert_models import shared_data

if TYPE_CHECKING:
    from collections.abc import Iterator

RATE = 16_000
NAMES = ("lights", "museum_boat", "taxi", "volume")
BY_NAME = {utterance.path.stem: utterance for utterance in utterances()}


def chunks(clip: Clip, seconds: float = 0.1) -> Iterator[np.ndarray]:
    size = round(seconds * clip.sample_rate_hz)
    return (clip.samples[start : start + size] for start in range(0, len(clip.samples), size))


async def heard(
    address: str, clip: Clip, *, chunk_seconds: float = 0.1, **options: object
) -> list[vivavoce.Transcript]:
    audio = vivavoce.AudioFormat(sample_rate_hz=clip.sample_rate_hz)
    async with vivavoce.connect(address) as client:
        events = client.converse(chunks(clip, chunk_seconds), audio=audio, reply_budget_seconds=30.0, **options)
        return [event async for event in events if isinstance(event, vivavoce.Transcript)]


async def texts(address: str, clip: Clip, **options: object) -> list[str]:
    return [told.text for told in await heard(address, clip, **options) if told.is_final and told.text]


@pytest.mark.parametrize(("gain_db", "offset"), [(-12, 0), (-20, 0), (-30, 0), (0, 0.15), (-20, 0.1)])
async def test_quiet_and_crooked_speech_is_understood_as_it_would_be(
    server_address: str, gain_db: float, offset: float
):
    said, clean, crooked = [], [], []
    for name in NAMES:
        clip = read_clip(BY_NAME[name].path)
        said.append(" ".join(words(BY_NAME[name].text)))
        clean.append(" ".join(words(" ".join(await texts(server_address, clip)))))
        crooked.append(" ".join(words(" ".join(await texts(server_address, Degradation(gain_db, offset).of(clip))))))
    assert jiwer.wer(said, crooked) <= jiwer.wer(said, clean) + 0.04


async def test_a_quiet_word_is_heard_with_push_to_talk(server_address: str):
    clip = read_clip(BY_NAME["lights"].path)
    quiet = Degradation(-30).of(clip)
    assert await texts(server_address, quiet, endpointing=vivavoce.Endpointing(disabled=True))


@pytest.mark.parametrize("chunk_seconds", [0.0371, 0.5])
async def test_the_text_does_not_depend_on_how_the_audio_was_cut(server_address: str, chunk_seconds: float):
    clip = Degradation(-20, 0.1).of(read_clip(BY_NAME["taxi"].path))
    assert await texts(server_address, clip, chunk_seconds=chunk_seconds) == await texts(server_address, clip)


@pytest.mark.parametrize("name", ["vacuum", "museum_tram", "moon_orbit"])
async def test_speech_that_breaks_off_makes_no_loop(server_address: str, name: str):
    clip = read_clip(BY_NAME[name].path)
    step = clip.sample_rate_hz // 4
    for stop in range(step, len(clip.samples), step):
        cut = Clip(clip.samples[:stop], clip.sample_rate_hz)
        told = await heard(server_address, cut, interim_results=True)
        assert [text for text in (one.text for one in told) if repeats(text) or text.endswith(",")] == []


async def test_words_that_are_said_again_stay(server_address: str):
    clip = read_clip(BY_NAME["volume"].path)
    pause = np.zeros(round(0.25 * clip.sample_rate_hz), np.float32)
    again = np.concatenate([np.concatenate([clip.samples, pause])] * 3)
    said = words(" ".join(await texts(server_address, Clip(again, clip.sample_rate_hz))))
    assert said.count("volume") == 3


@pytest.mark.parametrize("exponent", [0, 1, 2], ids=["white", "pink", "brown"])
async def test_noise_says_nothing(server_address: str, exponent: int):
    random, count = np.random.default_rng(11), 8 * RATE
    frequencies = np.maximum(np.fft.rfftfreq(count, 1 / RATE), 10)
    spectrum = random.normal(size=(2, len(frequencies))).T @ [1, 1j] * frequencies ** (-exponent / 2)
    noise = np.fft.irfft(spectrum, count)
    quiet = (0.1 * noise / np.sqrt(np.mean(np.square(noise)))).astype(np.float32)
    assert await heard(server_address, Clip(quiet, RATE), interim_results=True) == []


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("quiet_librivox_-30dB", "he was not an ill"),
        ("dc_offset_librivox", "he was not an ill"),
        ("loop_cut_librivox_2.0s", "had he married a more amiable"),
        ("spoken_phone_number", "my phone number is five five five eight six seven five three oh nine"),
    ],
)
async def test_cases_of_other_peoples_reports(server_address: str, name: str, right: str):
    found = " ".join(words(" ".join(await texts(server_address, read_clip(shared_data(f"cases/{name}.wav"))))))
    assert found.startswith(right)
    assert name != "loop_cut_librivox_2.0s" or found == right
