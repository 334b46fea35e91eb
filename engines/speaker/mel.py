"""Mel spectrogram of Resemblyzer's networks, without a logarithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.mel_filters import slaney_filters

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

SAMPLE_RATE = 16_000
HOP = 160
MELS = 40
_WINDOW = 400
_FILTERS = slaney_filters(MELS, _WINDOW, SAMPLE_RATE)
_HANN = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)).astype(np.float32)
"""Periodic, as librosa's."""


def mel_spectrogram(samples: Floats) -> Floats:
    """Return the powers of 16 kHz sound, float32 ``[frames, MELS]``, every 10 ms."""
    padded = np.pad(samples, _WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::HOP]
    spectra = np.fft.rfft(frames * _HANN, axis=1).astype(np.complex64)
    powers: Floats = np.square(spectra.real) + np.square(spectra.imag)
    return powers @ _FILTERS.T
