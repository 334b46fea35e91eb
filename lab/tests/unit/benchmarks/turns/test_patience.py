from __future__ import annotations

import numpy as np
import pytest

from benchmarks.turns import patience
from benchmarks.turns.patience import cut_share, waits
from pipelines.vad.turn_end import Patience, ending_silence

NORMAL = Patience.NORMAL


@pytest.fixture(autouse=True)
def _waits_that_fall_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "ending_silence", lambda probability, _: 1.5 - 1.4 * probability)


@pytest.mark.parametrize(
    ("scores", "seconds"),
    [
        ([0.95, 0.1, 0.1], 0.2),
        ([0.8, 0.8, 0.1], 0.38),
        ([0.7, 0.7, 0.1], 0.52),
        ([0.7, 0.95, 0.1], 0.4),
        ([0.7, 0.1, 0.9], 0.7),
        ([0.0, 0.0, 0.0], 1.5),
        ([0.0, -1, -1], 1.5),
    ],
)
def test_the_newest_judgement_tells_how_long_to_wait(scores: list[float], seconds: float):
    assert waits(NORMAL, np.array([scores])) == pytest.approx([seconds])


def test_pauses_that_outlast_their_wait_are_cut():
    scores = np.array([[0.95] * 3, [0.1] * 3])
    assert cut_share(NORMAL, scores, 0.5) == 0.5
    assert cut_share(NORMAL, scores, 2.0) == 1
    assert cut_share(NORMAL, scores[:0], 2.0) == 0


def test_the_more_patient_wait_longer():
    for probability in np.linspace(0, 1, 41):
        eager, normal, patient = (ending_silence(probability, each) for each in Patience)
        assert eager <= normal <= patient
