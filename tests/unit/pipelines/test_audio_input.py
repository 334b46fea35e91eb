"""Audio on its way into a conversation: filtered, and the same however it was cut."""

import numpy as np
import pytest

from pipelines.input.audio_input import AudioInput
from tests.unit.pipelines.fakes import ScriptedVoice

AUDIO = np.random.default_rng(3).normal(0.1, 0.1, 5_300).astype(np.float32)


def taken_in(piece: int) -> AudioInput:
    intake = AudioInput(None, ScriptedVoice((9.0, 0.0)), hears_keys=False)
    for start in range(0, len(AUDIO), piece):
        intake.add(AUDIO[start : start + piece])
    return intake


@pytest.mark.parametrize("piece", [1, 100, 512, 1_600])
def test_what_is_kept_does_not_depend_on_how_it_came(piece: int):
    whole, cut = taken_in(len(AUDIO)), taken_in(piece)
    assert cut.end == len(AUDIO)
    # Also of a window that is not whole yet.
    np.testing.assert_array_equal(cut.get(0, len(AUDIO)), whole.get(0, len(AUDIO)))
    np.testing.assert_array_equal(cut.get(5_200, 5_250), whole.get(0, len(AUDIO))[5_200:5_250])


def test_what_was_given_out_is_what_is_kept_once_more_has_come():
    intake = AudioInput(None, ScriptedVoice((9.0, 0.0)), hears_keys=False)
    intake.add(AUDIO[:1_000])
    early = intake.get(0, 1_000)
    intake.add(AUDIO[1_000:])
    np.testing.assert_array_equal(intake.get(0, 1_000), early)


def test_an_offset_is_gone():
    assert abs(taken_in(1_600).get(0, len(AUDIO)).mean()) < 0.01


def test_whole_windows_alone_are_judged():
    assert len(taken_in(1_600).judge()) == len(AUDIO) // 512


@pytest.mark.parametrize(("start", "stop"), [(0, 5_301), (5_290, 5_280)])
def test_what_was_not_heard_is_not_there(start: int, stop: int):
    with pytest.raises(IndexError, match="not held"):
        taken_in(1_600).get(start, stop)
