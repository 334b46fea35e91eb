"""Mel filters on Slaney's scale, as librosa makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_LINEAR_HZ = 200 / 3
"""Hertz a mel below 1 kHz."""
_LOG_STEP = np.log(6.4) / 27
_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0


def mel_filters(mels: int, window: int, sample_rate: int) -> npt.NDArray[np.float32]:
    """Return triangles of equal area, float32 ``[mels, frequencies]``.

    Args:
        mels: how many.
        window: samples of the window that is transformed.
        sample_rate: in hertz.
    """
    edges = _hertz(np.linspace(0, _mel(sample_rate / 2), mels + 2))
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
