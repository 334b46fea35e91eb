"""Streaming encoders of synthesized speech."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import soxr

from pipelines.audio.compressed_writer import CompressedWriter
from pipelines.audio.formats import MAX_RATE_HZ, MIN_RATE_HZ, SPEECH_RATE_HZ, Encoding
from pipelines.audio.raw import G711_TABLES
from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy.typing as npt

SPEECH_ENCODINGS = (
    Encoding.LINEAR_PCM,
    Encoding.LINEAR_PCM_FLOAT32,
    Encoding.MULAW,
    Encoding.ALAW,
    Encoding.OGGOPUS,
)
OPUS_RATES_HZ = (8_000, 12_000, 16_000, 24_000, 48_000)

_PAGE_MICROSECONDS = 100_000
"""Of an Ogg page: the listener waits for a whole one."""
_OPUS_BITS_PER_SECOND = 32_000


@dataclass(frozen=True, slots=True)
class SpeechFormat:
    """Format of speech, on one channel.

    Attributes:
        encoding: one of :data:`SPEECH_ENCODINGS`.
        sample_rate_hz: samples a second.
        encoding_field: what errors about the encoding name.
        rate_field: what errors about the rate name.

    Raises:
        InvalidInputError: speech is not encoded so.
    """

    encoding: Encoding = Encoding.LINEAR_PCM
    sample_rate_hz: int = SPEECH_RATE_HZ
    encoding_field: str = "encoding"
    rate_field: str = "sample_rate_hz"

    def __post_init__(self) -> None:
        if self.encoding not in SPEECH_ENCODINGS:
            known = ", ".join(encoding.value for encoding in SPEECH_ENCODINGS)
            message = f"speech is not encoded as {self.encoding.value}: choose {known}"
            raise InvalidInputError(self.encoding_field, "UNSUPPORTED_ENCODING", message)
        rate = self.sample_rate_hz
        if not MIN_RATE_HZ <= rate <= MAX_RATE_HZ:
            message = f"a sample rate of {rate} Hz is not served: choose {MIN_RATE_HZ} to {MAX_RATE_HZ} Hz"
            raise InvalidInputError(self.rate_field, "SAMPLE_RATE_OUT_OF_RANGE", message)
        if self.encoding is Encoding.OGGOPUS and rate not in OPUS_RATES_HZ:
            known = ", ".join(map(str, OPUS_RATES_HZ))
            message = f"Opus has no sample rate of {rate} Hz: choose one of {known}"
            raise InvalidInputError(self.rate_field, "SAMPLE_RATE_OUT_OF_RANGE", message)


class SpeechEncoder:
    """Encodes one stream of speech.

    Args:
        audio_format: what it becomes.
    """

    def __init__(self, audio_format: SpeechFormat) -> None:
        self._encoding = audio_format.encoding
        rate = audio_format.sample_rate_hz
        self._resampler = None if rate == SPEECH_RATE_HZ else soxr.ResampleStream(SPEECH_RATE_HZ, rate, 1, quality="HQ")
        self._opus = _ogg_opus(rate) if self._encoding is Encoding.OGGOPUS else None

    @property
    def compresses(self) -> bool:
        """True if encoding takes milliseconds and belongs in another thread."""
        return self._opus is not None

    def encode(self, samples: npt.NDArray[np.float32]) -> bytes:
        """Encode samples, mono at 24 kHz; return the bytes that are ready."""
        return self._encoded(self._resampled(samples, last=False))

    def flush(self) -> bytes:
        """Return what was held back; nothing follows."""
        rest = self._encoded(self._resampled(np.zeros(0, np.float32), last=True))
        return rest + (self._opus.close() if self._opus else b"")

    def _resampled(self, samples: npt.NDArray[np.float32], *, last: bool) -> npt.NDArray[np.float32]:
        if self._resampler is None:
            return samples
        resampled: npt.NDArray[np.float32] = self._resampler.resample_chunk(np.ascontiguousarray(samples), last=last)
        return resampled

    def _encoded(self, samples: npt.NDArray[np.float32]) -> bytes:
        if self._opus is not None:
            return self._opus.write(samples)
        samples = np.clip(samples, -1, 1)
        if self._encoding is Encoding.LINEAR_PCM_FLOAT32:
            return samples.astype("<f4").tobytes()
        if self._encoding is Encoding.LINEAR_PCM:
            whole: npt.NDArray[np.int16] = np.round(samples * 32767).astype("<i2")
            return whole.tobytes()
        levels, codes = _G711[self._encoding]
        found: npt.NDArray[np.uint8] = codes[np.searchsorted(levels, samples)]
        return found.tobytes()


def _nearest_codes(encoding: Encoding) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8]]:
    """Return the thresholds between G.711's values, and the codes in order."""
    table = G711_TABLES[encoding]
    order = np.argsort(table, kind="stable")
    values = table[order]
    return (values[:-1] + values[1:]) / 2, order.astype(np.uint8)


_G711 = {encoding: _nearest_codes(encoding) for encoding in (Encoding.MULAW, Encoding.ALAW)}


def _ogg_opus(rate_hz: int) -> CompressedWriter:
    """Return a writer of Opus in Ogg, in pages of a tenth of a second."""
    options = {"page_duration": str(_PAGE_MICROSECONDS)}
    return CompressedWriter("ogg", "libopus", rate_hz, _OPUS_BITS_PER_SECOND, options=options)
