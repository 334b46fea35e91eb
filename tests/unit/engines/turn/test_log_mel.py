"""The spectrogram, against one that is computed frame by frame from the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engines.turn.log_mel import FRAMES, HOP, MAX_SAMPLES, MELS, SAMPLE_RATE, log_mel


def tones(samples: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    time = np.arange(samples) / SAMPLE_RATE
    sound = 0.2 * np.sin(2 * np.pi * (150 + 40 * time) * time) + 0.05 * np.sin(2 * np.pi * 2_900 * time)
    return (sound + 0.01 * rng.normal(size=samples)).astype(np.float32)


def slaney(hertz: float) -> float:
    return 3 * hertz / 200 if hertz < 1000 else 15 + 27 * math.log(hertz / 1000, 6.4)


def weight(mel: int, hertz: float) -> float:
    """Height of a triangle at a frequency, found by search for its corners."""
    step = slaney(8000) / (MELS + 1)
    low, middle, high = (unslaney(step * (mel + corner)) for corner in range(3))
    if not low < hertz < high:
        return 0.0
    height = (hertz - low) / (middle - low) if hertz <= middle else (high - hertz) / (high - middle)
    return height * 2 / (high - low)


def unslaney(mels: float) -> float:
    low, high = 0.0, 9000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slaney(middle) < mels else (low, middle)
    return low


def by_definition(sound: np.ndarray, frame: int, mel: int) -> float:
    """Logarithm of the power of a frame in a band, by a discrete Fourier transform that is written out."""
    whole = np.zeros(MAX_SAMPLES)
    whole[MAX_SAMPLES - len(sound) :] = sound
    whole = (whole - whole.mean()) / math.sqrt(whole.var() + 1e-7)
    places = [abs(frame * HOP - 200 + offset) for offset in range(400)]
    window = [whole[place] * (0.5 - 0.5 * math.cos(2 * math.pi * n / 400)) for n, place in enumerate(places)]
    power = 0.0
    for bin_number in range(201):
        height = weight(mel, bin_number * 40)
        if height:
            turns = np.exp(-2j * np.pi * bin_number * np.arange(400) / 400)
            power += height * abs(np.dot(window, turns)) ** 2
    return math.log10(max(power, 1e-10))


@pytest.mark.parametrize("samples", [MAX_SAMPLES, 3 * SAMPLE_RATE])
def test_it_is_what_the_definition_says(samples: int):
    sound = tones(samples)
    spectrogram = log_mel(sound)
    assert spectrogram.shape == (MELS, FRAMES)
    assert spectrogram.dtype == np.float32
    loudest = spectrogram.max() * 4 - 4
    for frame, mel in [(FRAMES - 2, 3), (FRAMES - 100, 40), (FRAMES - 7, 79), (600, 12), (790, 55)]:
        expected = (max(by_definition(sound, frame, mel), loudest - 8) + 4) / 4
        assert spectrogram[mel, frame] == pytest.approx(expected, abs=2e-4)


def test_the_last_eight_seconds_count():
    sound = tones(10 * SAMPLE_RATE)
    assert np.array_equal(log_mel(sound), log_mel(sound[-MAX_SAMPLES:]))


def test_loudness_does_not_count():
    sound = tones(4 * SAMPLE_RATE)
    np.testing.assert_allclose(log_mel(sound), log_mel(0.1 * sound), atol=5e-3)


@pytest.mark.parametrize("samples", [0, 1, 160, 16_000])
def test_silence_and_nothing_are_spectrograms_too(samples: int):
    assert np.isfinite(log_mel(np.zeros(samples, np.float32))).all()
