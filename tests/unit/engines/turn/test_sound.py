from __future__ import annotations

import numpy as np
import pytest

from engines.turn.sound import silence_seconds


def sound(*script: tuple[float, float]) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.concatenate([level * rng.standard_normal(round(s * 16_000)) for s, level in script]).astype(np.float32)


@pytest.mark.parametrize("seconds", [0.2, 0.45, 1.0])
@pytest.mark.parametrize("gain", [1.0, 0.02])
def test_the_silence_at_the_end_is_measured_whatever_the_level(seconds: float, gain: float):
    assert silence_seconds(gain * sound((2, 0.2), (seconds, 0.005))) == pytest.approx(seconds, abs=0.021)


def test_sound_that_is_as_loud_at_the_end_has_no_silence():
    assert silence_seconds(sound((1, 0.005), (1, 0.2))) == 0


@pytest.mark.parametrize("samples", [np.zeros(0), np.zeros(100), np.zeros(16_000), np.ones(16_000)])
def test_what_does_not_change_has_no_silence(samples: np.ndarray):
    assert silence_seconds(samples.astype(np.float32)) == 0
