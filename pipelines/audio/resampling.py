"""Brings one channel of audio to the rate of the models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from av import AudioFrame, AudioResampler

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    import numpy.typing as npt

NO_SAMPLES: Final[npt.NDArray[np.float32]] = np.zeros(0, np.float32)


class Resampler:
    """Streaming resampler of one channel to 16 kHz.

    It is FFmpeg's, which is 1 to 2 ms behind what came. soxr hands out blocks, and is up to 115 ms behind at 8 kHz: so
    much later would a telephone call's turn end.
    """

    def __init__(self) -> None:
        self._stream: AudioResampler | None = None

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
            self._stream = AudioResampler("flt", "mono", MODEL_RATE_HZ)
        frames = self._stream.resample(_frame(samples, rate_hz)) if len(samples) else []
        if last:
            frames += self._stream.resample(None)
        return np.concatenate([NO_SAMPLES, *(frame.to_ndarray()[0] for frame in frames)])


def _frame(samples: npt.NDArray[np.float32], rate_hz: int) -> AudioFrame:
    frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples, np.float32)[np.newaxis], "flt", "mono")
    frame.sample_rate = rate_hz
    return frame
