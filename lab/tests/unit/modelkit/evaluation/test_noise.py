from __future__ import annotations

import numpy as np
import pytest
import soundfile

from lab.tests.unit.modelkit.evaluation.fakes import RATE
from modelkit.errors import DataError
from modelkit.evaluation.noise import Level, Noise
from modelkit.evaluation.recordings import Clip

QUIET = 0.02


def speech(amplitude: float = QUIET) -> Clip:
    """Half a second of speech between half seconds of silence."""
    samples = np.zeros(3 * RATE // 2, np.float32)
    samples[RATE // 2 : RATE] = amplitude * np.random.default_rng(1).standard_normal(RATE // 2)
    return Clip(samples, RATE)


@pytest.fixture
def noise(tmp_path) -> Noise:
    """Two seconds of noise with a bang every quarter of a second."""
    samples = 0.05 * np.random.default_rng(2).standard_normal(2 * RATE)
    samples[:: RATE // 4] = 0.9
    soundfile.write(tmp_path / "noise.wav", samples, RATE, subtype="FLOAT")
    return Noise.read(tmp_path / "noise.wav")


def decibels(power: float, other: float) -> float:
    return 10 * np.log10(power / other)


@pytest.mark.parametrize("snr_db", [-3.0, 6.0, 24.0])
def test_the_ratio_is_of_the_speech_alone_to_the_noise_beneath(noise, snr_db):
    clean = speech()
    added = noise.under(clean, snr_db, "a.wav", Level.ACTIVE).samples - clean.samples
    spoken = clean.samples[RATE // 2 : RATE]
    assert decibels(np.mean(spoken**2), np.mean(added**2)) == pytest.approx(snr_db, abs=0.1)


def test_the_ratio_of_the_loudest_moments(noise):
    clean = speech()
    added = noise.under(clean, 9.0, "a.wav", Level.LOUDEST).samples - clean.samples
    frames = [np.mean(x[: len(x) // 2048 * 2048].reshape(-1, 2048) ** 2, axis=1).max() for x in (clean.samples, added)]
    assert decibels(*frames) == pytest.approx(9.0, abs=0.1)


def test_what_would_be_clipped_is_softened_as_a_whole(noise):
    clean = speech(0.3)
    mixed = noise.under(clean, 0.0, "a.wav", Level.ACTIVE).samples
    assert np.abs(mixed).max() == pytest.approx(1.0, abs=1e-6)
    gain = clean.samples @ mixed / (clean.samples @ clean.samples)
    assert gain < 0.9


def test_a_recording_gets_the_same_piece_at_every_ratio_and_another_one_another(noise):
    clean = speech()
    added = {
        key: noise.under(clean, *key, Level.ACTIVE).samples - clean.samples
        for key in [(6.0, "a"), (12.0, "a"), (6.0, "b")]
    }
    np.testing.assert_allclose(added[6.0, "a"], added[12.0, "a"] * 10 ** (6 / 20), atol=1e-5)
    assert np.abs(added[6.0, "a"] - added[6.0, "b"]).max() > 0.005


def test_short_noise_goes_round_and_another_rate_is_converted(tmp_path):
    soundfile.write(
        tmp_path / "short.wav", 0.1 * np.random.default_rng(3).standard_normal(8_000), 8_000, subtype="FLOAT"
    )
    clean = speech()
    added = Noise.read(tmp_path / "short.wav").under(clean, 10.0, "a", Level.ACTIVE).samples - clean.samples
    np.testing.assert_allclose(added[:8_000], added[16_000:], atol=1e-6)
    spectrum = np.abs(np.fft.rfft(added[:16_000]))
    assert spectrum[4_400:].max() < 0.05 * spectrum[:3_600].max()


def test_silence_gets_no_noise_and_silent_noise_is_refused(noise, tmp_path):
    silence = Clip(np.zeros(RATE, np.float32), RATE)
    assert not noise.under(silence, 6.0, "a", Level.ACTIVE).samples.any()
    soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
    with pytest.raises(DataError, match=r"silent\.wav is silent"):
        Noise.read(tmp_path / "silent.wav")
