"""Whisper's log-mel spectrogram (Radford et al., 2022) of the last 8 s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.spectra import periodic_hann, slaney_filters, whisper_log_mel

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
    return whisper_log_mel(frames * _HANN, _FILTERS)


_HANN = periodic_hann(_WINDOW)
_FILTERS = slaney_filters(MELS, _WINDOW, SAMPLE_RATE)
