"""Chooses the ranges of activations for static INT8: extremes, percentiles, or least loss of information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.build.quantize import Range, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt
    import onnx

    from engines.build.quantize import Feeds, Measure

_BINS = 2048
_LEVELS = 128
"""Steps of 8 bits on one side of zero."""
_PERCENTILE = 99.99


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often an activation took which values.

    Attributes:
        counts: ``[bins]``.
        edges: ``[bins + 1]``, ascending.
    """

    counts: npt.NDArray[np.int64]
    edges: npt.NDArray[np.float64]

    @property
    def extremes(self) -> Range:
        """From the least to the greatest value, and 0."""
        return Range(min(0.0, float(self.edges[0])), max(0.0, float(self.edges[-1])))


def min_max(histogram: Histogram) -> Range:
    """Takes in every value that was seen."""
    return histogram.extremes


def percentile(histogram: Histogram, percent: float = _PERCENTILE) -> Range:
    """Leaves out the outermost values, half of them on each side."""
    shares = np.cumsum(histogram.counts) / histogram.counts.sum()
    left_out = (100 - percent) / 200
    low = float(histogram.edges[int(np.searchsorted(shares, left_out))])
    high = float(histogram.edges[int(np.searchsorted(shares, 1 - left_out)) + 1])
    return Range(min(0.0, low), max(0.0, high))


def entropy(histogram: Histogram) -> Range:
    """Cuts magnitudes where the 8-bit distribution differs least from the exact one.

    The threshold is that of least Kullback-Leibler divergence (Migacz, 2017, "8-bit inference with TensorRT"). It holds
    on both sides of zero, as far as there are values.
    """
    magnitudes, width = _magnitudes(histogram)
    kept = range(_LEVELS, len(magnitudes) + 1, _LEVELS // 8)
    threshold = width * min(kept, key=lambda bins: _divergence(magnitudes, bins))
    seen = histogram.extremes
    return Range(max(seen.low, -threshold), min(seen.high, threshold))


def _magnitudes(histogram: Histogram) -> tuple[npt.NDArray[np.float64], float]:
    """Folds a histogram about zero; returns counts ``[bins]`` and the width of a bin."""
    centres = np.abs(histogram.edges[:-1] + histogram.edges[1:]) / 2
    greatest = float(np.abs(histogram.edges).max())
    counts, edges = np.histogram(centres, _BINS, (0.0, greatest or 1.0), weights=histogram.counts)
    return counts.astype(np.float64), float(edges[1])


def _divergence(counts: npt.NDArray[np.float64], kept: int) -> float:
    """Divergence of the distribution in 128 levels over the first ``kept`` bins from the one clipped to them."""
    clipped = counts[:kept].copy()
    clipped[-1] += counts[kept:].sum()
    level = np.arange(kept) * _LEVELS // kept
    filled = counts[:kept] > 0
    totals = np.bincount(level, counts[:kept], _LEVELS)
    spread = np.bincount(level, filled, _LEVELS)
    coarse = np.where(filled, (totals / np.maximum(spread, 1))[level], 0.0)
    if not coarse.sum():
        return np.inf
    p, q = clipped / clipped.sum(), np.maximum(coarse / coarse.sum(), 1e-9)
    seen = p > 0
    return float((p[seen] * np.log(p[seen] / q[seen])).sum())


def calibrator(choose: Callable[[Histogram], Range]) -> Measure:
    """Makes a way to measure ranges of one to choose them from histograms."""

    def measure(model: onnx.ModelProto, names: Sequence[str], samples: Sequence[Feeds]) -> dict[str, Range]:
        return {name: choose(histogram) for name, histogram in histograms(model, names, samples).items()}

    return measure


def histograms(model: onnx.ModelProto, names: Sequence[str], samples: Sequence[Feeds]) -> dict[str, Histogram]:
    """Runs a model twice over the samples: for the extremes of the named activations, then for their histograms."""
    bounds = np.array([[(v.min(), v.max()) for v in values] for values in watch(model, names, samples)], np.float64)
    lows, highs = bounds[:, :, 0].min(axis=0), bounds[:, :, 1].max(axis=0)
    edges = [np.linspace(low, max(high, low + 1e-6), _BINS + 1) for low, high in zip(lows, highs, strict=True)]
    counts = [np.zeros(_BINS, np.int64) for _ in names]
    for sample in watch(model, names, samples):
        for count, edge, values in zip(counts, edges, sample, strict=True):
            np.add(count, np.histogram(values, _BINS, (edge[0], edge[-1]))[0], out=count)
    return {name: Histogram(*both) for name, both in zip(names, zip(counts, edges, strict=True), strict=True)}
