from __future__ import annotations

import numpy as np
import pytest

from engines.asr.moonshine.features import CHANNELS, SAMPLES_PER_FRAME, FeatureCache, encoder_frames

RNG = np.random.default_rng(7)
AUDIO = RNG.normal(size=16_000).astype(np.float32)


def front_end(audio: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two windows without padding, as the convolutions have; each value says which samples it was made from."""
    first = np.lib.stride_tricks.sliding_window_view(audio, 127)[::64].mean(axis=1)
    second = np.lib.stride_tricks.sliding_window_view(first, 7)[::3].mean(axis=1)
    return np.tile(second, (CHANNELS, 1)), first * 288, first**2 * 288


def feed(cache: FeatureCache, audio: np.ndarray) -> None:
    new = audio[cache.next_sample :]
    padded = np.concatenate([new, np.full(3000, 9, np.float32)])
    cache.extend(len(new), *front_end(padded))


@pytest.mark.parametrize("chunk", [16_000, 6_400, 1_000, 200, 63])
def test_any_chunks_give_the_features_of_the_whole(chunk: int) -> None:
    cache = FeatureCache()
    for end in range(chunk, len(AUDIO) + chunk, chunk):
        feed(cache, AUDIO[:end])
    features, sums, square_sums = front_end(AUDIO)
    np.testing.assert_allclose(cache.features, features, rtol=1e-6)
    mean, deviation = cache.statistics()
    entries = len(sums) * 288
    assert mean == pytest.approx(sums.sum() / entries)
    assert deviation == pytest.approx(np.sqrt(square_sums.sum() / entries - mean**2 + 1e-5))


def test_audio_too_short_for_a_frame_has_none() -> None:
    cache = FeatureCache()
    feed(cache, AUDIO[:510])
    assert cache.frames == 0
    feed(cache, AUDIO[:511])
    assert cache.frames == 1
    assert cache.next_sample == SAMPLES_PER_FRAME


def test_silence_has_a_deviation_to_divide_by() -> None:
    cache = FeatureCache()
    feed(cache, np.zeros(2_000, np.float32))
    assert cache.statistics() == (0.0, pytest.approx(np.sqrt(1e-5)))


@pytest.mark.parametrize(("frames", "expected"), [(0, 0), (2, 0), (3, 1), (4, 1), (5, 2), (415, 207)])
def test_encoder_frames(frames: int, expected: int) -> None:
    assert encoder_frames(frames) == expected
