"""Finds out how audio is encoded from how it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.audio.flac import FlacDecoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.audio.opus import OggOpusDecoder
from pipelines.audio.raw import RawDecoder
from pipelines.audio.sample_decoder import NO_BLOCK
from pipelines.audio.wav import WavDecoder
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from pipelines.audio.sample_decoder import SampleDecoder

_MAGIC_BYTES = 4


class DetectingDecoder:
    """Decodes WAV, FLAC and Opus in Ogg as their headers say, and anything else as the caller says.

    Args:
        channels: the number of channels that a header must say; 0 for any.
        raw: how audio without a header is encoded; None when it must have one.
    """

    def __init__(self, channels: int, raw: AudioFormat | None) -> None:
        self._promised = AudioFormat(Encoding.FLAC, 0, channels)
        self._raw = raw
        self._begun = b""
        self._decoder: SampleDecoder | None = None

    @property
    def sample_rate_hz(self) -> int:
        """Rate of the samples; known once there are any."""
        return self._decoder.sample_rate_hz if self._decoder else 0

    def decode(self, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yields what ``data`` completes, float32 ``[samples, channels]``."""
        if self._decoder is None:
            self._begun += data
            if len(self._begun) < _MAGIC_BYTES:
                return
            data = self._choose()
        assert self._decoder is not None
        yield from self._decoder.decode(data)

    def flush(self) -> npt.NDArray[np.float32]:
        """Decodes what is left at the end of the audio."""
        if self._decoder is None:
            if not self._begun:
                return NO_BLOCK
            rest = self._choose()
            assert self._decoder is not None
            return next(self._decoder.decode(rest))
        return self._decoder.flush()

    def _choose(self) -> bytes:
        """Chooses the decoder and returns what was held back for that."""
        match self._begun[:_MAGIC_BYTES]:
            case b"RIFF":
                self._decoder = WavDecoder(self._promised)
            case b"fLaC":
                self._decoder = FlacDecoder(self._promised)
            case b"OggS":
                self._decoder = OggOpusDecoder(self._promised)
            case _ if self._raw is not None:
                self._decoder = RawDecoder(self._raw)
            case _:
                raise UndecodableAudioError(
                    "the audio has no WAV, FLAC or Ogg header: name its encoding and its sample rate"
                )
        begun, self._begun = self._begun, b""
        return begun
