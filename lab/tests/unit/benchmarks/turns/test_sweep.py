from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from benchmarks.turns.sweep import ASKED_SECONDS, cut_within, silence_points, sweep, wait_for

TIMES = len(ASKED_SECONDS)


def constant(*scores: float) -> np.ndarray:
    return np.tile(np.array(scores)[:, np.newaxis], TIMES)


def test_silence_alone_cuts_what_lasts_longer():
    points = silence_points(np.array([0.25, 0.5, 1.0, 1.5]))
    assert cut_within(points, 0.3) == 0.75
    assert cut_within(points, 0.6) == 0.5
    assert wait_for(points, 0.25) == pytest.approx(1.0)
    assert wait_for(points, 0.0) == pytest.approx(1.5)


def test_a_perfect_system_waits_for_its_first_judgement():
    points = sweep(constant(0.9, 0.8), constant(0.1, 0.2), np.array([1.9, 0.4]))
    assert cut_within(points, 0.3) == 0
    assert wait_for(points, 0.0) == pytest.approx(0.2)


def test_a_system_that_knows_nothing_is_no_better_than_silence():
    seconds = np.array([0.25, 0.5, 1.0, 1.5])
    points = sweep(constant(0.5, 0.5), constant(0.5, 0.5, 0.5, 0.5), seconds)
    assert [cut_within(points, wait) for wait in (0.3, 0.6)] == [0.75, 0.5]


def test_ends_that_score_low_wait_for_the_timeout():
    # One end in two is known at once; the other one waits until no pause lasts any more.
    points = sweep(constant(0.9, 0.1), constant(0.2, 0.2), np.array([1.0, 1.0]))
    assert wait_for(points, 0.0) == pytest.approx((0.2 + 1.0) / 2)


def test_a_later_judgement_counts_if_the_pause_still_lasts():
    rising = np.array([[0.1, 0.9, 0.9]])
    points = sweep(rising, np.array([[0.1, 0.1, 0.95]]), np.array([0.5]))
    assert wait_for(points, 0.0) == pytest.approx(0.4)


def test_no_policy_is_within_a_wait_that_is_too_short():
    points = silence_points(np.array([0.5]))
    assert cut_within(points, 0.1) == 1
    assert wait_for(silence_points(np.array([9.0])), 0.0) == math.inf


def test_the_best_policies_wait_longer_and_cut_less():
    rng = np.random.default_rng(2)
    ends, holds = rng.uniform(0.3, 1, (40, TIMES)), rng.uniform(0, 0.7, (60, TIMES))
    points = sweep(ends, holds, rng.uniform(0.2, 2, 60))
    assert len(points) > 3
    assert all(a.wait < b.wait and a.cut > b.cut for a, b in itertools.pairwise(points))
