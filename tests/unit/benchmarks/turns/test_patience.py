from __future__ import annotations

import numpy as np
import pytest

from benchmarks.turns.patience import WAITS, cut_share, wait, waits

TABLE = ((0.0, 1.5), (0.5, 0.5), (0.9, 0.2))


def test_between_two_points_the_wait_falls_evenly():
    assert [wait(TABLE, p) for p in (0.0, 0.25, 0.5, 0.9, 1.0)] == pytest.approx([1.5, 1.0, 0.5, 0.2, 0.2])


@pytest.mark.parametrize(
    ("scores", "seconds"),
    [
        ([0.95, 0.1, 0.1], 0.2),
        ([0.5, 0.5, 0.1], 0.5),
        ([0.5, 0.95, 0.1], 0.4),
        ([0.5, 0.1, 0.5], 0.7),
        ([0.0, 0.0, 0.0], 1.5),
        ([0.0, -1, -1], 1.5),
    ],
)
def test_the_newest_judgement_tells_how_long_to_wait(scores: list[float], seconds: float):
    assert waits(TABLE, np.array([scores])).tolist() == [seconds]


def test_pauses_that_outlast_their_wait_are_cut():
    scores = np.array([[0.95] * 3, [0.1] * 3])
    assert cut_share(TABLE, scores, 0.5) == 0.5
    assert cut_share(TABLE, scores, 2.0) == 1
    assert cut_share(TABLE, scores[:0], 2.0) == 0


@pytest.mark.parametrize("name", WAITS)
def test_surer_ends_wait_shorter(name: str):
    table = WAITS[name]
    assert [probability for probability, _ in table] == sorted(probability for probability, _ in table)
    assert [seconds for _, seconds in table] == sorted((seconds for _, seconds in table), reverse=True)
    assert (table[0][0], table[-1][0]) == (0, 1)


def test_the_more_patient_wait_longer():
    for probability in np.linspace(0, 1, 41):
        eager, normal, patient = (wait(WAITS[name], probability) for name in ("eager", "normal", "patient"))
        assert eager <= normal <= patient
