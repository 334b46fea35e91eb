"""Whisper's log-mel spectrogram (Radford et al., 2022) of the last 8 s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.mel_filters import slaney_filters

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


_HANN = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)).astype(np.float32)
_FILTERS = slaney_filters(MELS, _WINDOW, SAMPLE_RATE)
