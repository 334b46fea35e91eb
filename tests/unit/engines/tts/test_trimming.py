from __future__ import annotations

import numpy as np
import pytest

from engines.tts.trimming import trimmed
from engines.tts.waveform import HOP

KEPT = 2 * HOP


def silence(hops: int) -> np.ndarray:
    return np.zeros(hops * HOP, np.float32)


def sound(hops: int) -> np.ndarray:
    return np.full(hops * HOP, 0.1, np.float32)


def test_silence_around_speech_is_cut():
    blocks = [silence(24), np.concatenate([silence(5), sound(10)]), sound(3), silence(30), silence(40)]
    kept = np.concatenate(list(trimmed(blocks)))
    assert np.array_equal(kept, np.concatenate([silence(2), sound(13), silence(2)]))


def test_silence_within_speech_stays():
    blocks = [sound(4), silence(50), silence(60), sound(1)]
    assert np.array_equal(np.concatenate(list(trimmed(blocks))), np.concatenate(blocks))


def test_sound_is_handed_on_at_once():
    stream = trimmed(iter([silence(24), sound(24), sound(80)]))
    assert len(next(stream)) == KEPT + 24 * HOP


@pytest.mark.parametrize("blocks", [[], [silence(3)], [silence(30), silence(50)]])
def test_of_silence_alone_nothing_is_left(blocks: list[np.ndarray]):
    assert not list(trimmed(blocks))
