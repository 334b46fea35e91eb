"""Log-mel features as NeMo computes them, for streaming without normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.asr.serving.utterance import SAMPLE_RATE
from engines.spectra import powers, slaney_filters

if TYPE_CHECKING:
    from numpy.typing import NDArray

FRAME_SAMPLES = 160
"""Samples from one frame to the next."""
FRAME_TAIL_SAMPLES = 200
"""Samples that a frame needs from its own first one on."""

_WINDOW = 400
_FOURIER = 512
_PREEMPHASIS = np.float32(0.97)
_FLOOR = np.float32(2**-24)
_MARGIN = (_FOURIER - _WINDOW) // 2


_MIN_DEVIATION = np.float32(1e-5)


def normalized(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an utterance's frames with each bin at mean 0 and deviation 1."""
    deviations = frames.std(0, ddof=1) if len(frames) > 1 else np.zeros(frames.shape[1], np.float32)
    found: NDArray[np.float32] = (frames - frames.mean(0)) / (deviations + _MIN_DEVIATION)
    return found


class LogMel:
    """Logarithmic mel power spectrum.

    Hann windows of 25 ms, each centred on its frame, every 10 ms.

    Args:
        bins: mel bins.
    """

    def __init__(self, bins: int) -> None:
        window = np.zeros(_FOURIER, np.float32)
        window[_MARGIN : _MARGIN + _WINDOW] = np.hanning(_WINDOW)
        self._window = window
        self._filters = np.ascontiguousarray(slaney_filters(bins, _FOURIER, SAMPLE_RATE).T)

    def frames(self, audio: NDArray[np.float32], first: int, end: int) -> NDArray[np.float32]:
        """Return the frames from ``first`` to ``end``.

        Args:
            audio: all samples so far, float32 ``[samples]``; zeros stand before and after them.
            first: first frame.
            end: one past the last.

        Returns:
            float32 ``[end - first, bins]``.
        """
        if end <= first:
            return np.zeros((0, self._filters.shape[1]), np.float32)
        begin, stop = first * FRAME_SAMPLES - _FOURIER // 2, (end - 1) * FRAME_SAMPLES + _FOURIER // 2
        part = np.zeros(stop - begin, np.float32)
        low, high = max(begin, 0), min(stop, len(audio))
        if high > low:
            before = audio[low - 1 : high - 1] if low else np.concatenate([np.zeros(1, np.float32), audio[: high - 1]])
            part[low - begin : high - begin] = audio[low:high] - _PREEMPHASIS * before
        windows = np.lib.stride_tricks.sliding_window_view(part, _FOURIER)[::FRAME_SAMPLES] * self._window
        logarithms: NDArray[np.float32] = np.log(powers(windows) @ self._filters + _FLOOR)
        return logarithms
