"""Brings one channel of audio to the rate of the models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import soxr

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    import numpy.typing as npt

NO_SAMPLES: Final[npt.NDArray[np.float32]] = np.zeros(0, np.float32)


class Resampler:
    """Streaming resampler of one channel to 16 kHz."""

    def __init__(self) -> None:
        self._stream: soxr.ResampleStream | None = None

    def convert(self, samples: npt.NDArray[np.float32], rate_hz: int, *, last: bool) -> npt.NDArray[np.float32]:
        """Resample ``samples``, float32 ``[samples]`` at ``rate_hz``, to 16 kHz.

        Args:
            samples: may be empty.
            rate_hz: the same in every call.
            last: nothing follows: return what was held back, too.

        Raises:
            UndecodableAudioError: there is NaN or infinity among the samples.
        """
        if not len(samples) and not (last and self._stream):
            return NO_SAMPLES
        if not np.isfinite(samples).all():
            raise UndecodableAudioError("the audio holds NaN or infinity: send finite samples from -1 to 1")
        if self._stream is None:
            if rate_hz == MODEL_RATE_HZ:
                return samples
            self._stream = soxr.ResampleStream(rate_hz, MODEL_RATE_HZ, 1, quality="HQ")
        resampled: npt.NDArray[np.float32] = self._stream.resample_chunk(np.ascontiguousarray(samples), last=last)
        return resampled
