"""Recordings as bad microphones make them."""

from __future__ import annotations

import numpy as np
import pytest

from lab.tests.unit.modelkit.evaluation.fakes import SpeechTable
from modelkit.evaluation.degradation import Degradation, DegradedEngines
from modelkit.evaluation.engines import Turn
from modelkit.evaluation.recordings import Clip

TONE = Clip((0.25 * np.sin(np.arange(1600) / 3)).astype(np.float32), 16_000)


def test_a_recording_becomes_quieter_and_gets_an_offset():
    quiet = Degradation(-20, 0.1).of(TONE)
    assert quiet.samples.mean() == pytest.approx(0.1, abs=1e-3)
    assert np.ptp(quiet.samples) == pytest.approx(0.05, rel=0.02)
    assert quiet.sample_rate_hz == TONE.sample_rate_hz
    assert quiet.samples.dtype == np.float32


def test_it_is_quantized_and_clipped():
    steps = Degradation(-60).of(TONE).samples * 32_768
    np.testing.assert_array_equal(steps, np.round(steps))
    assert Degradation(40).of(TONE).samples.max() < 1


def test_without_a_degradation_nothing_is_touched():
    assert Degradation().of(TONE) is TONE


async def test_engines_hear_the_degraded_recording():
    table = SpeechTable({1600: [Turn("yes", "none", ())]})
    turns = await DegradedEngines(table, Degradation(-20)).hear(TONE, (), one_utterance=True)
    ((clip, hints, one_utterance),) = table.heard
    assert [turn.transcript for turn in turns] == ["yes"]
    assert np.abs(clip.samples).max() == pytest.approx(0.025, rel=0.02)
    assert (hints, one_utterance) == ((), True)
