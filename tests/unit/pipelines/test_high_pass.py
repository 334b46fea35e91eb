"""What the high-pass filter takes away, and what it leaves."""

import numpy as np
import pytest

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.audio.high_pass import BLOCK_SAMPLES, HighPass


def filtered(samples: np.ndarray, blocks_at_a_time: int = 1000) -> np.ndarray:
    high_pass, blocks = HighPass(), samples.astype(np.float32).reshape(-1, BLOCK_SAMPLES)
    parts = [high_pass.filter(blocks[at : at + blocks_at_a_time]) for at in range(0, len(blocks), blocks_at_a_time)]
    return np.concatenate(parts).ravel()


def tone(hertz: float, blocks: int = 1000) -> np.ndarray:
    return 0.1 * np.sin(2 * np.pi * hertz * np.arange(blocks * BLOCK_SAMPLES) / MODEL_RATE_HZ)


def gain_db(hertz: float) -> float:
    settled = slice(20 * BLOCK_SAMPLES, None)
    powers = [np.mean(np.square(samples[settled])) for samples in (filtered(tone(hertz)), tone(hertz))]
    return float(10 * np.log10(powers[0] / powers[1]))


def test_an_offset_goes_from_the_first_sample_on():
    speech = tone(200)
    found = filtered(speech + 0.3)
    assert abs(found.mean()) < 1e-3
    assert np.abs(found - speech)[: BLOCK_SAMPLES // 4].max() < 0.03


@pytest.mark.parametrize("hertz", [80, 110, 200, 1000])
def test_speech_passes(hertz: float):
    settled = slice(20 * BLOCK_SAMPLES, None)
    np.testing.assert_allclose(filtered(tone(hertz))[settled], tone(hertz)[settled], atol=3e-3)


def test_a_slow_drift_does_not_pass():
    assert gain_db(0.1) < -18


def test_an_offset_that_comes_later_goes_too():
    step = np.repeat([0.0, 0.2], 50 * BLOCK_SAMPLES)
    found = filtered(step)
    assert np.abs(found[: 50 * BLOCK_SAMPLES]).max() == 0
    assert np.abs(found[80 * BLOCK_SAMPLES :]).max() < 1e-3


@pytest.mark.parametrize("blocks_at_a_time", [1, 3, 16])
def test_the_result_is_the_same_however_the_audio_comes(blocks_at_a_time: int):
    noise = np.random.default_rng(3).normal(0.1, 0.1, 60 * BLOCK_SAMPLES)
    np.testing.assert_array_equal(filtered(noise, blocks_at_a_time), filtered(noise))


@pytest.mark.parametrize("count", [0, 1, 100, BLOCK_SAMPLES - 1])
def test_the_beginning_of_a_block_is_filtered_as_with_the_whole_of_it(count: int):
    noise = np.random.default_rng(3).normal(0.1, 0.1, (3, BLOCK_SAMPLES)).astype(np.float32)
    high_pass = HighPass()
    high_pass.filter(noise[:2])
    begun = high_pass.peek(noise[2, :count])
    np.testing.assert_array_equal(begun, high_pass.filter(noise[2:])[0, :count])


def test_less_than_a_block_is_filtered_by_itself():
    assert np.abs(HighPass().peek(np.full(100, 0.2, np.float32))).max() < 1e-6
