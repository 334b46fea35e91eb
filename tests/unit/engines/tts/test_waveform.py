from __future__ import annotations

import numpy as np
import pytest

from engines.tts import waveform
from engines.tts.waveform import HOP, SAMPLE_RATE, Spectra, render

BINS = 601
SILENT = -20.0


def spectra(frames: int, *, pitch_hz: float = 0.0, voiced: float = SILENT, noise: float = SILENT) -> Spectra:
    def level(value: float) -> np.ndarray:
        return np.full((BINS, frames), value, np.float32)

    pitch = np.full(frames, pitch_hz, np.float32)
    return Spectra(level(voiced), level(0), level(noise), level(SILENT), level(0), pitch)


def rendered(spoken: Spectra, seed: int = 1) -> np.ndarray:
    return np.concatenate(list(render(spoken, np.random.default_rng(seed))))


@pytest.mark.parametrize("frames", [1, 2, 3, 24, 25, 48, 88, 89, 300])
def test_a_frame_has_300_samples(frames: int):
    assert len(rendered(spectra(frames, pitch_hz=120, voiced=0))) == frames * HOP


def test_a_voice_has_the_pitch_that_was_predicted():
    speech = rendered(spectra(200, pitch_hz=150, voiced=-5))
    spectrum = np.abs(np.fft.rfft(speech[SAMPLE_RATE // 2 : SAMPLE_RATE // 2 + SAMPLE_RATE]))
    peaks = np.flatnonzero(spectrum > spectrum.max() / 2)
    assert len(peaks) > 20
    assert not (peaks % 150).any()


def test_without_a_voice_there_is_noise_or_nothing():
    assert np.abs(rendered(spectra(100))).max() < 1e-6
    hiss = rendered(spectra(100, noise=-3))
    assert np.abs(hiss).max() > 1e-3
    assert np.array_equal(hiss, rendered(spectra(100, noise=-3)))
    assert not np.array_equal(hiss, rendered(spectra(100, noise=-3), seed=2))


def test_blocks_join_without_a_trace(monkeypatch: pytest.MonkeyPatch):
    spoken = spectra(180, pitch_hz=110, voiced=-4)
    in_blocks = rendered(spoken)
    monkeypatch.setattr(waveform, "FIRST_BLOCKS_FRAMES", (500,))
    assert np.abs(in_blocks - rendered(spoken)).max() < 1e-5


def test_the_first_block_is_short():
    first = next(render(spectra(400, pitch_hz=110, voiced=0), np.random.default_rng(1)))
    assert len(first) <= 24 * HOP
