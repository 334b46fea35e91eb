"""The gain before voice activity detection, on levels and on a real voice with the real network."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipelines.vad.endpointing import Boundary, Endpointer, EndpointingConfig
from pipelines.vad.level import FLOOR_TARGET_DB, MAX_GAIN_DB, LevelGain
from pipelines.vad.voice_activity import WINDOW_SAMPLES, SileroModel, is_speech

RECORDING = Path(__file__).parents[3] / "demo" / "recordings" / "lights.flac"


def decibels(factor: float) -> float:
    return float(20 * np.log10(factor))


def gain_after(level_db: float, windows: int, gain: LevelGain | None = None) -> float:
    gains, _ = (gain or LevelGain()).follow([10 ** (level_db / 10)] * windows)
    return decibels(gains[-1])


def in_16_bits(samples: np.ndarray, level_db: float) -> np.ndarray:
    return (np.round(samples * 10 ** (level_db / 20) * 32768) / 32768).astype(np.float32)


def starts(samples: np.ndarray) -> int:
    stream, endpointer, was_speech, found = SileroModel().new_stream(), Endpointer(EndpointingConfig()), False, 0
    windows = samples[: len(samples) // WINDOW_SAMPLES * WINDOW_SAMPLES].reshape(-1, WINDOW_SAMPLES)
    for probability in stream.probabilities(windows):
        was_speech = is_speech(probability, was_speech=was_speech)
        endpointer, boundary = endpointer.push(speech=was_speech)
        found += boundary is Boundary.START
    return found


@pytest.fixture(scope="module")
def voice() -> np.ndarray:
    return soundfile.read(RECORDING, dtype="float32")[0]


def test_a_quiet_floor_is_lifted_to_the_target_and_a_loud_one_is_not():
    assert gain_after(-75, 300) == pytest.approx(FLOOR_TARGET_DB + 75, abs=1)
    assert gain_after(-60, 1000) == pytest.approx(0, abs=1)
    assert gain_after(-30, 1000) == 0
    assert gain_after(-110, 300) == pytest.approx(MAX_GAIN_DB)


def test_loud_speech_over_a_quiet_floor_is_not_lifted():
    gain = LevelGain()
    gain.follow([1e-9] * 100)
    gains, _ = gain.follow([10**-1.5] * 10)
    assert gains[-1] == 1


def test_the_gain_changes_slowly_while_it_is_still():
    gain = LevelGain()
    gain.follow([1e-7] * 300)
    levels = [decibels(factor) for factor in gain.follow([10**-6.5] * 100)[0]]
    assert np.abs(np.diff(levels)).max() < 0.11


def test_steady_hiss_is_inaudible_and_what_stands_out_of_it_is_not():
    gain = LevelGain()
    gain.follow([1e-7] * 300)
    assert gain.follow([1e-7, 10**-6.2, 1e-7])[1] == [True, False, True]
    assert not any(gain.follow([10**-5.5] * 1000)[1])


def test_digital_silence_is_inaudible_and_lifts_no_further_than_allowed():
    gains, inaudible = LevelGain().follow([0.0] * 1000)
    assert all(inaudible)
    assert decibels(max(gains)) <= MAX_GAIN_DB + 1e-6


def test_levels_are_followed_the_same_however_windows_come():
    powers = (np.random.default_rng(3).random(200) ** 8 * 0.1).tolist()
    one, together = LevelGain(), LevelGain()
    by_one = [one.follow([power]) for power in powers]
    assert ([gains[0] for gains, _ in by_one], [flags[0] for _, flags in by_one]) == together.follow(powers)


@pytest.mark.parametrize("level_db", [0, -12, -20, -30, -36])
def test_a_voice_is_found_at_every_level(voice: np.ndarray, level_db: float):
    assert starts(in_16_bits(voice, level_db)) == 1


@pytest.mark.parametrize("exponent", [0, 1, 2], ids=["white", "pink", "brown"])
@pytest.mark.parametrize("level_db", [-20, -40, -60])
def test_noise_is_no_speech_at_any_level(exponent: int, level_db: float):
    random = np.random.default_rng(7)
    count = 10 * 16_000
    frequencies = np.maximum(np.fft.rfftfreq(count, 1 / 16_000), 10)
    spectrum = random.normal(size=(2, len(frequencies))).T @ [1, 1j] * frequencies ** (-exponent / 2)
    noise = np.fft.irfft(spectrum, count)
    assert starts(in_16_bits(noise / np.sqrt(np.mean(np.square(noise))), level_db)) == 0
