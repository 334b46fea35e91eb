"""Whisper's log-mel spectrogram (Radford et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.asr.serving.utterance import SAMPLE_RATE
from engines.spectra import periodic_hann, slaney_filters, whisper_log_mel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

HOP = 160
WINDOW_FRAMES = 3000
"""Frames of the longest audio that the network reads at a time: 30 s."""

_FFT = 400


class LogMel:
    """Spectrograms of a number of mel bins."""

    def __init__(self, bins: int) -> None:
        self._filters = slaney_filters(bins, _FFT, SAMPLE_RATE)
        self._hann = periodic_hann(_FFT)

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
        return whisper_log_mel(windows * self._hann, self._filters)
