"""Decoders for samples without a header: linear PCM and ITU-T G.711."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.audio.sample_decoder import PIECE_BYTES, PieceDecoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt


def _mulaw_table() -> npt.NDArray[np.float32]:
    """Compute each mu-law byte's value (ITU-T G.711, table 2a), -1 to 1."""
    code = ~np.arange(256, dtype=np.int32) & 0xFF
    exponent, mantissa = code >> 4 & 7, code & 15
    magnitude = ((mantissa << 3) + 132 << exponent) - 132
    return (np.where(code & 0x80, -magnitude, magnitude) / 32768).astype(np.float32)


def _alaw_table() -> npt.NDArray[np.float32]:
    """Compute each A-law byte's value (ITU-T G.711, table 1a), -1 to 1."""
    code = np.arange(256, dtype=np.int32) ^ 0x55
    exponent, mantissa = code >> 4 & 7, code & 15
    magnitude = np.where(exponent == 0, (mantissa << 4) + 8, (mantissa << 4) + 264 << np.maximum(exponent - 1, 0))
    return (np.where(code & 0x80, magnitude, -magnitude) / 32768).astype(np.float32)


_STEP = np.float32(1 / 32768)
"""What one step of 16 bits is of full scale."""

G711_TABLES = {Encoding.MULAW: _mulaw_table(), Encoding.ALAW: _alaw_table()}
"""Sample value of each code of ITU-T G.711, as a share of full scale."""
_SAMPLE_BYTES = {Encoding.LINEAR_PCM: 2, Encoding.LINEAR_PCM_FLOAT32: 4, Encoding.MULAW: 1, Encoding.ALAW: 1}


class RawDecoder(PieceDecoder):
    """Decodes headerless samples; a part of one is held until the rest of it comes.

    Attributes:
        frame_bytes: bytes of one sample of all channels.
    """

    def __init__(self, audio_format: AudioFormat) -> None:
        super().__init__()
        self.sample_rate_hz = audio_format.sample_rate_hz
        self._encoding = audio_format.encoding
        self._channels = audio_format.channels or 1
        self.frame_bytes = _SAMPLE_BYTES[self._encoding] * self._channels
        self._begun = b""

    def decode(self, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Decode ``data``; most messages are one piece, which completes one block."""
        return self.decode_piece(data) if len(data) <= PIECE_BYTES else super().decode(data)

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the samples that ``piece`` completes as float32 ``[samples, channels]``."""
        if self._begun:
            piece = self._begun + piece
        whole = len(piece) - len(piece) % self.frame_bytes
        self._begun = piece[whole:]
        if whole:
            yield self._samples(piece[:whole]).reshape(-1, self._channels)

    def flush(self) -> npt.NDArray[np.float32]:
        """Return nothing: a part of a sample is left out."""
        if self._begun:
            self.note_damage("the audio ends inside a sample, which was left out: send whole samples")
        return np.zeros((0, self._channels), np.float32)

    def _samples(self, data: bytes) -> npt.NDArray[np.float32]:
        if self._encoding is Encoding.LINEAR_PCM:
            return np.multiply(np.frombuffer(data, "<i2"), _STEP, dtype=np.float32)
        if self._encoding is Encoding.LINEAR_PCM_FLOAT32:
            return np.frombuffer(data, "<f4").astype(np.float32)
        return G711_TABLES[self._encoding][np.frombuffer(data, np.uint8)]
