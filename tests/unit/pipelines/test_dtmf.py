"""Keys in audio: every key, at the bounds of ITU-T Q.24, and none in speech, music or noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from demo.manifest import utterances
from pipelines.audio.dtmf import COLUMNS_HZ, KEYS, ROWS_HZ, DtmfDetector
from vivavoce import read_audio

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE = 16_000
ALL = "".join(KEYS)


def tone(
    key: str, seconds: float = 0.06, level_db: float = -15.0, twist_db: float = 0.0, off: float = 0.0
) -> NDArray[np.float32]:
    row = next(index for index, keys in enumerate(KEYS) if key in keys)
    times = np.arange(round(seconds * RATE)) / RATE
    amplitude = 10 ** (level_db / 20)
    low = amplitude * np.sin(2 * np.pi * ROWS_HZ[row] * (1 + off) * times)
    high = amplitude * 10 ** (twist_db / 20) * np.sin(2 * np.pi * COLUMNS_HZ[KEYS[row].index(key)] * (1 + off) * times)
    return np.asarray(low + high, np.float32)


def silence(seconds: float) -> NDArray[np.float32]:
    return np.zeros(round(seconds * RATE), np.float32)


def heard(samples: NDArray[np.float32], piece: int = 800) -> tuple[str, NDArray[np.float32]]:
    detector, keys, rest = DtmfDetector(), "", []
    for start in range(0, len(samples), piece):
        found, left = detector.hear(samples[start : start + piece])
        keys += found
        rest.append(left)
    return keys, np.concatenate(rest)


def dialled(keys: str, pause: float = 0.06, noise: float = 0.0, **how: float) -> NDArray[np.float32]:
    parts = [silence(0.1)]
    for key in keys:
        parts += [tone(key, **how), silence(pause)]
    samples = np.concatenate([*parts, silence(0.1)])
    return samples + np.asarray(np.random.default_rng(1).normal(0, noise, len(samples)), np.float32)


@pytest.mark.parametrize("piece", [1, 37, 160, 800, 100_000])
def test_every_key_however_the_audio_comes(piece: int):
    assert heard(dialled(ALL), piece)[0] == ALL


@pytest.mark.parametrize(
    "how",
    [
        {"seconds": 0.04, "pause": 0.04},
        {"level_db": -30.0},
        {"level_db": -7.0},
        {"twist_db": 4.0},
        {"twist_db": -8.0},
        {"off": 0.015},
        {"off": -0.015},
        {"noise": 0.02},
        {"seconds": 1.0},
    ],
)
def test_what_must_be_heard(how: dict[str, float]):
    assert heard(dialled(ALL, **how))[0] == ALL


@pytest.mark.parametrize("how", [{"seconds": 0.022}, {"off": 0.035}, {"off": -0.035}, {"level_db": -60.0}])
def test_what_must_not_be_heard(how: dict[str, float]):
    assert heard(dialled(ALL, **how))[0] == ""


def test_the_same_key_twice():
    assert heard(dialled("1122"))[0] == "1122"


def test_a_short_break_is_the_same_key():
    samples = np.concatenate([silence(0.1), tone("5", 0.1), silence(0.008), tone("5", 0.1), silence(0.1)])
    assert heard(samples)[0] == "5"


def test_tones_are_taken_out_and_the_rest_is_left():
    rng = np.random.default_rng(2)
    before, after = (np.asarray(rng.normal(0, 0.1, RATE), np.float32) for _ in range(2))
    samples = np.concatenate([before, tone("7", 0.2), after])
    _, rest = heard(samples, 160)
    assert len(rest) == len(samples)
    assert np.array_equal(rest[: RATE - 410], before[:-410])
    assert np.array_equal(rest[-RATE + 410 :], after[410:])
    inside = rest[RATE + 410 : RATE + 2_700]
    assert np.abs(inside).max() == 0.0
    assert np.abs(samples[RATE + 410 : RATE + 2_700]).max() > 0.1, "and not because it was silent"


def test_one_tone_alone_is_no_key():
    times = np.arange(RATE) / RATE
    for hz in (*ROWS_HZ, *COLUMNS_HZ):
        assert heard(np.asarray(0.3 * np.sin(2 * np.pi * hz * times), np.float32))[0] == ""


def test_a_dial_tone_a_chirp_and_noise_hold_no_keys():
    times = np.arange(3 * RATE) / RATE
    rng = np.random.default_rng(3)
    chirp = np.sin(2 * np.pi * (300 * times + 500 * times**2))
    dial_tone = np.sin(2 * np.pi * 350 * times) + np.sin(2 * np.pi * 440 * times)
    for samples in (0.2 * dial_tone, 0.3 * chirp, rng.normal(0, 0.2, 3 * RATE)):
        assert heard(np.asarray(samples, np.float32))[0] == ""


def test_speech_holds_no_keys():
    seconds = 0.0
    for utterance in utterances():
        recording = read_audio(utterance.path)
        assert recording.sample_rate_hz == RATE
        samples = np.concatenate(list(recording.chunks())).astype(np.float32)
        seconds += len(samples) / RATE
        assert heard(samples)[0] == "", utterance.path.name
    assert seconds > 30
