"""Decodes WAV as it arrives: Multimedia Programming Interface and Data Specifications 1.0 (IBM and Microsoft, 1991)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.audio.headers import check_header
from pipelines.audio.raw import RawDecoder
from pipelines.audio.sample_decoder import NO_BLOCK, PieceDecoder
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt


_RIFF_HEADER_BYTES = 12
_CHUNK_HEADER_BYTES = 8
_FORMAT_BYTES = 16
_MAX_HEADER_BYTES = 1 << 16
"""No file has more than this in front of its samples, unless it is damaged."""

_EXTENSIBLE = 0xFFFE
_ENCODINGS: Final = {
    (1, 16): Encoding.LINEAR_PCM,
    (3, 32): Encoding.LINEAR_PCM_FLOAT32,
    (6, 8): Encoding.ALAW,
    (7, 8): Encoding.MULAW,
}
"""By format tag and bits a sample."""

_UNKNOWN_LENGTHS = frozenset({0, 0xFFFFFFFF})
"""Written in place of the length of the samples by who cannot know it yet."""


class WavDecoder(PieceDecoder):
    """Decodes WAV; the pieces may be cut anywhere.

    Args:
        promised: what the caller says of the audio. The header outranks the sample rate; a number of channels other
            than 0 must be the header's.
    """

    def __init__(self, promised: AudioFormat) -> None:
        self._promised = promised
        self._held = bytearray()
        self._samples: RawDecoder | None = None
        self._left: int | None = None

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yields ``piece`` as float32 ``[samples, channels]``; what follows the samples is left out."""
        self._held += piece
        if self._samples is None and not self._read_header():
            return
        assert self._samples is not None
        if self._left is not None:
            del self._held[self._left :]
        whole = len(self._held) - len(self._held) % self._samples.frame_bytes
        samples = bytes(self._held[:whole])
        del self._held[:whole]
        if self._left is not None:
            self._left -= whole
        yield from self._samples.decode(samples)

    def flush(self) -> npt.NDArray[np.float32]:
        """Returns nothing: every whole sample was returned as it came."""
        if self._samples is None and self._held:
            raise UndecodableAudioError("the WAV audio ends inside its header")
        return NO_BLOCK

    def _read_header(self) -> bool:
        """Reads chunks up to the first sample; returns whether that was reached."""
        audio_format: AudioFormat | None = None
        position = _RIFF_HEADER_BYTES
        while position <= _MAX_HEADER_BYTES:
            body = position + _CHUNK_HEADER_BYTES
            if len(self._held) < body:
                return False
            name, length = struct.unpack_from("<4sI", self._held, position)
            if name == b"data":
                self._begin(audio_format, length, body)
                return True
            if name == b"fmt ":
                if length > _MAX_HEADER_BYTES:
                    raise UndecodableAudioError("the WAV header is damaged: its format is longer than any")
                if len(self._held) < body + length:
                    return False
                audio_format = self._read_format(body, length)
            # Chunks are padded to an even length.
            position = body + length + length % 2
        raise UndecodableAudioError("the WAV header is damaged: there are no samples where it says")

    def _read_format(self, position: int, length: int) -> AudioFormat:
        if length < _FORMAT_BYTES:
            raise UndecodableAudioError("the WAV header is damaged: its format is too short")
        tag, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", self._held, position)
        if tag == _EXTENSIBLE and length >= 26:
            (tag,) = struct.unpack_from("<H", self._held, position + 24)
        encoding = _ENCODINGS.get((tag, bits))
        if encoding is None:
            raise UndecodableAudioError(f"WAV of format {tag} with {bits} bits a sample is not served: send 16-bit PCM")
        check_header(self._promised, rate, channels)
        return AudioFormat(encoding, rate, channels)

    def _begin(self, audio_format: AudioFormat | None, length: int, position: int) -> None:
        if audio_format is None:
            raise UndecodableAudioError("the WAV header is damaged: its samples come before their format")
        self._samples = RawDecoder(audio_format)
        self.sample_rate_hz = audio_format.sample_rate_hz
        self._left = None if length in _UNKNOWN_LENGTHS else length
        del self._held[:position]
