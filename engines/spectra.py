"""Spectra and mel filters, as recognizers and other models of sound are fed with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_LINEAR_HZ = 200 / 3
"""Hertz a mel below 1 kHz."""
_LOG_STEP = np.log(6.4) / 27
_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0

_MIN_POWER = 1e-10
_RANGE = 8.0
"""Decades."""


def slaney_filters(bins: int, window: int, sample_rate: int) -> npt.NDArray[np.float32]:
    """Return mel filters on Slaney's scale (Slaney 1998, "Auditory Toolbox").

    Triangles of equal area, from 0 Hz to half the sample rate.

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


def periodic_hann(size: int) -> Floats:
    """Return a Hann window as PyTorch and librosa have it, float32 ``[size]``."""
    window: Floats = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)
    return window


def powers(windows: Floats) -> Floats:
    """Return the power spectra, ``[..., size // 2 + 1]``, of windows ``[..., size]``."""
    spectra = np.fft.rfft(windows, axis=-1).astype(np.complex64)
    found: Floats = np.square(spectra.real) + np.square(spectra.imag)
    return found


def whisper_log_mel(windows: Floats, filters: Floats) -> Floats:
    """Return the logarithmic mel spectrogram of Whisper (Radford et al. 2022).

    Args:
        windows: windowed sound, float32 ``[frames, size]``.
        filters: mel filters, ``[bins, size // 2 + 1]``.

    Returns:
        float32 ``[bins, frames]``, clipped at eight decades below its loudest value.
    """
    logarithms = np.log10(np.maximum(filters @ powers(windows).T, _MIN_POWER))
    clipped = np.maximum(logarithms, logarithms.max() - np.float32(_RANGE))
    scaled: Floats = (clipped + 4) / 4
    return scaled


def _mel(hertz: float) -> float:
    if hertz < _BREAK_HZ:
        return hertz / _LINEAR_HZ
    return float(_BREAK_MEL + np.log(hertz / _BREAK_HZ) / _LOG_STEP)


def _hertz(mels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(mels < _BREAK_MEL, mels * _LINEAR_HZ, _BREAK_HZ * np.exp(_LOG_STEP * (mels - _BREAK_MEL)))
