"""Whisper's log-mel spectrogram (Radford et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.asr.serving.utterance import SAMPLE_RATE
from engines.mel_filters import slaney_filters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

HOP = 160
WINDOW_FRAMES = 3000
"""Frames of the longest audio that the network reads at a time: 30 s."""

_FFT = 400
_MIN_POWER = 1e-10
_RANGE = 8.0
"""Decades below the loudest value at which the spectrogram is clipped."""


class LogMel:
    """Spectrograms of a number of mel bins."""

    def __init__(self, bins: int) -> None:
        self._filters = slaney_filters(bins, _FFT, SAMPLE_RATE)
        self._hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_FFT) / _FFT)).astype(np.float32)

    def __call__(self, audio: Floats, frames: int) -> Floats:
        """Return the spectrogram of audio, with silence behind it.

        Args:
            audio: float32 ``[samples]``; what is longer than ``frames`` is cut.
            frames: of 10 ms.

        Returns:
            float32 ``[bins, frames]``.
        """
        sound = np.zeros(frames * HOP, np.float32)
        heard = audio[: len(sound)]
        sound[: len(heard)] = heard
        padded = np.pad(sound, _FFT // 2, mode="reflect")
        windows = np.lib.stride_tricks.sliding_window_view(padded, _FFT)[: frames * HOP : HOP]
        spectra = np.fft.rfft(windows * self._hann, axis=1).astype(np.complex64)
        powers = np.square(spectra.real) + np.square(spectra.imag)
        logarithms = np.log10(np.maximum(self._filters @ powers.T, _MIN_POWER))
        clipped = np.maximum(logarithms, logarithms.max() - np.float32(_RANGE))
        scaled: Floats = (clipped + 4) / 4
        return scaled
