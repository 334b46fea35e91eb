"""The measurement of interruptions: what it counts, and what it hums."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.interruptions import RATE_HZ, Clip, Trial, hum, summary


def test_each_kind_is_counted_and_timed() -> None:
    backchannels = [Trial("Mhm.", 10.0, 11.0), Trial("Sure.", 10.0, 10.1, 10.8, "Sorry.")]
    interruptions = [
        Trial("Stop.", 10.0, 10.1, 10.8),
        Trial("Wait.", 10.0, 9.9, 11.0),
        Trial("No.", 10.0, 12.0, None, "Know."),
    ]
    found = summary(backchannels, interruptions)
    assert found["backchannels"] == 2
    assert found["backchannels_that_interrupted"] == ["Sure. (Sorry.)"]
    assert found["interruptions_that_did_not"] == ["No. (Know.)"]
    assert found["onset_to_last_audio_ms"]["n"] == 2
    assert found["onset_to_last_audio_ms"]["max"] == pytest.approx(100.0)
    assert found["onset_to_interrupted_ms"]["p50"] == pytest.approx(900.0)


def test_the_onset_is_the_first_loud_sample() -> None:
    assert Clip("Stop.", np.array([0.0, 0.01, 0.3, 0.5], np.float32)).onset == 2


@pytest.mark.parametrize(("parts", "seconds"), [(1, 0.4), (2, 0.5)])
def test_a_hum_is_voiced_and_as_long_as_one(parts: int, seconds: float) -> None:
    samples = hum(parts, 1.0, 1.0)
    assert len(samples) / RATE_HZ == pytest.approx(seconds, abs=0.01)
    assert np.abs(samples).max() == pytest.approx(0.5)
    spectrum = np.abs(np.fft.rfft(samples[:3_000]))
    assert 150 < np.argmax(spectrum) * RATE_HZ / 3_000 < 420, "its first harmonics are the strongest"
