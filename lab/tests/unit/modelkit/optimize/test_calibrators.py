"""Ranges on distributions whose best ranges are known."""

from __future__ import annotations

import numpy as np
import pytest

from modelkit.optimize.calibrators import Histogram, entropy, min_max, percentile


def histogram(values: np.ndarray) -> Histogram:
    return Histogram(*np.histogram(values, 2048))


@pytest.fixture
def normal_with_outlier() -> np.ndarray:
    return np.append(np.random.default_rng(0).normal(size=200_000), 100.0)


def test_min_max_takes_all(normal_with_outlier):
    measured = min_max(histogram(normal_with_outlier))
    assert measured.low == pytest.approx(normal_with_outlier.min())
    assert measured.high == pytest.approx(100)


@pytest.mark.parametrize("choose", [percentile, entropy])
def test_an_outlier_is_cut(choose, normal_with_outlier):
    measured = choose(histogram(normal_with_outlier))
    assert 3 < measured.high < 8
    assert -8 < measured.low < -3


@pytest.mark.parametrize("choose", [min_max, percentile, entropy])
def test_an_even_distribution_is_kept_whole(choose):
    measured = choose(histogram(np.linspace(-2, 2, 100_000)))
    assert measured.low == pytest.approx(-2, rel=0.02)
    assert measured.high == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("choose", [min_max, percentile, entropy])
def test_a_side_without_values_takes_none_of_the_range(choose):
    measured = choose(histogram(np.random.default_rng(0).uniform(0.5, 3, 100_000)))
    assert measured.low == 0
    assert measured.high == pytest.approx(3, rel=0.05)


def test_a_percentile_leaves_half_on_each_side():
    measured = percentile(histogram(np.linspace(-1, 1, 1_000_000)), 90)
    assert measured.low == pytest.approx(-0.9, abs=0.01)
    assert measured.high == pytest.approx(0.9, abs=0.01)
