"""Mel spectrogram of Resemblyzer's networks, without a logarithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.spectra import periodic_hann, powers, slaney_filters

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

SAMPLE_RATE = 16_000
HOP = 160
MELS = 40
_WINDOW = 400
_FILTERS = slaney_filters(MELS, _WINDOW, SAMPLE_RATE)
_HANN = periodic_hann(_WINDOW)


def mel_spectrogram(samples: Floats) -> Floats:
    """Return the powers of 16 kHz sound, float32 ``[frames, MELS]``, every 10 ms."""
    padded = np.pad(samples, _WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::HOP]
    return powers(frames * _HANN) @ _FILTERS.T
