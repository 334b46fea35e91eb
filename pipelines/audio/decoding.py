"""Streaming decoders: bytes in the caller's encoding become 16 kHz mono float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import soxr

from pipelines.audio.compressed import FlacDecoder, OggOpusDecoder
from pipelines.audio.formats import MODEL_RATE_HZ, AudioFormat, Encoding
from pipelines.audio.raw import RawDecoder
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    import numpy.typing as npt


class SampleDecoder(Protocol):
    """Turns bytes into interleaved samples at their own rate."""

    @property
    def sample_rate_hz(self) -> int:
        """Rate of what :meth:`decode` returns; known once it has returned samples."""

    def decode(self, data: bytes) -> npt.NDArray[np.float32]:
        """Decodes what ``data`` completes: float32 ``[samples, channels]``, possibly with no samples."""

    def flush(self) -> npt.NDArray[np.float32]:
        """Decodes what is left at the end of the audio."""


class AudioDecoder:
    """Decodes, mixes to mono and resamples one stream of audio.

    Args:
        audio_format: what the caller promised to send.
    """

    def __init__(self, audio_format: AudioFormat) -> None:
        self._decoder = _sample_decoder(audio_format)
        self._resampler: soxr.ResampleStream | None = None

    def decode(self, data: bytes) -> npt.NDArray[np.float32]:
        """Decodes a piece of audio to float32 ``[samples]`` at 16 kHz, as far as it is complete.

        Raises:
            UndecodableAudioError: ``data`` is not in the promised encoding, or holds NaN or infinity.
        """
        return self._to_model_rate(self._decoder.decode(data), last=False)

    def flush(self) -> npt.NDArray[np.float32]:
        """Returns the samples that were held back for want of what follows.

        Raises:
            UndecodableAudioError: the audio breaks off in a way that its encoding does not allow.
        """
        return self._to_model_rate(self._decoder.flush(), last=True)

    def _to_model_rate(self, samples: npt.NDArray[np.float32], *, last: bool) -> npt.NDArray[np.float32]:
        if not len(samples) and not (last and self._resampler):
            return np.zeros(0, np.float32)
        mono: npt.NDArray[np.float32] = samples.mean(axis=1, dtype=np.float32)
        if not np.isfinite(mono).all():
            raise UndecodableAudioError("the audio holds NaN or infinity: send finite samples from -1 to 1")
        if self._resampler is None:
            if self._decoder.sample_rate_hz == MODEL_RATE_HZ:
                return mono
            self._resampler = soxr.ResampleStream(self._decoder.sample_rate_hz, MODEL_RATE_HZ, 1, quality="HQ")
        resampled: npt.NDArray[np.float32] = self._resampler.resample_chunk(mono, last=last)
        return resampled


def _sample_decoder(audio_format: AudioFormat) -> SampleDecoder:
    match audio_format.encoding:
        case Encoding.FLAC:
            return FlacDecoder(audio_format)
        case Encoding.OGGOPUS:
            return OggOpusDecoder(audio_format)
        case _:
            return RawDecoder(audio_format)
