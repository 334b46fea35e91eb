"""Mel filters on Slaney's scale (Slaney 1998, "Auditory Toolbox")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_LINEAR_HZ = 200 / 3
"""Hertz a mel below 1 kHz."""
_LOG_STEP = np.log(6.4) / 27
_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0


def slaney_filters(bins: int, window: int, sample_rate: int) -> npt.NDArray[np.float32]:
    """Return triangles of equal area from 0 Hz to half the sample rate.

    Args:
        bins: mel bins.
        window: samples of the Fourier transform.
        sample_rate: samples a second.

    Returns:
        float32 ``[bins, window // 2 + 1]``.
    """
    edges = _hertz(np.linspace(0, _mel(sample_rate / 2), bins + 2))
    frequencies = np.linspace(0, sample_rate / 2, window // 2 + 1)
    low, middle, high = edges[:-2, np.newaxis], edges[1:-1, np.newaxis], edges[2:, np.newaxis]
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    triangles = np.maximum(0, np.minimum(rising, falling)) * 2 / (high - low)
    return triangles.astype(np.float32)


def _mel(hertz: float) -> float:
    if hertz < _BREAK_HZ:
        return hertz / _LINEAR_HZ
    return float(_BREAK_MEL + np.log(hertz / _BREAK_HZ) / _LOG_STEP)


def _hertz(mels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(mels < _BREAK_MEL, mels * _LINEAR_HZ, _BREAK_HZ * np.exp(_LOG_STEP * (mels - _BREAK_MEL)))
