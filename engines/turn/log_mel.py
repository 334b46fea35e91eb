"""Whisper's log-mel spectrogram (Radford et al., 2022) of the last 8 s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

SAMPLE_RATE = 16_000
MAX_SAMPLES = 8 * SAMPLE_RATE
"""Samples that are looked at; shorter sound is preceded by silence."""
HOP = 160
FRAMES = MAX_SAMPLES // HOP
MELS = 80

_WINDOW = 400
_MIN_POWER = 1e-10
_RANGE = 8.0
"""Decades below the loudest value at which the spectrogram is clipped."""
_VARIANCE_FLOOR = 1e-7

_LINEAR_HZ = 200 / 3
"""Hertz a mel below 1 kHz, on Slaney's scale."""
_LOG_STEP = np.log(6.4) / 27
_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0


def log_mel(samples: Floats) -> Floats:
    """Return the spectrogram of 16 kHz sound, float32 ``[MELS, FRAMES]``.

    The sound is brought to zero mean and unit variance, the silence before it included, as Smart Turn was trained.
    """
    sound = np.zeros(MAX_SAMPLES, np.float32)
    if len(samples):
        sound[-min(len(samples), MAX_SAMPLES) :] = samples[-MAX_SAMPLES:]
    sound = (sound - sound.mean()) / np.sqrt(sound.var() + _VARIANCE_FLOOR)
    padded = np.pad(sound, _WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[: FRAMES * HOP : HOP]
    spectra = np.fft.rfft(frames * _HANN, axis=1).astype(np.complex64)
    powers = np.square(spectra.real) + np.square(spectra.imag)
    logarithms = np.log10(np.maximum(_FILTERS @ powers.T, _MIN_POWER))
    clipped = np.maximum(logarithms, logarithms.max() - np.float32(_RANGE))
    scaled: Floats = (clipped + 4) / 4
    return scaled


def _mel(hertz: float) -> float:
    if hertz < _BREAK_HZ:
        return hertz / _LINEAR_HZ
    return float(_BREAK_MEL + np.log(hertz / _BREAK_HZ) / _LOG_STEP)


def _hertz(mels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(mels < _BREAK_MEL, mels * _LINEAR_HZ, _BREAK_HZ * np.exp(_LOG_STEP * (mels - _BREAK_MEL)))


def _filters() -> Floats:
    """Return triangles of equal area, ``[MELS, frequencies]``."""
    edges = _hertz(np.linspace(0, _mel(SAMPLE_RATE / 2), MELS + 2))
    frequencies = np.linspace(0, SAMPLE_RATE / 2, _WINDOW // 2 + 1)
    low, middle, high = edges[:-2, np.newaxis], edges[1:-1, np.newaxis], edges[2:, np.newaxis]
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    triangles = np.maximum(0, np.minimum(rising, falling)) * 2 / (high - low)
    return triangles.astype(np.float32)


_HANN = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)).astype(np.float32)
_FILTERS = _filters()
