"""Files of synthesized speech, written sequentially."""

from __future__ import annotations

import enum
import struct
from typing import TYPE_CHECKING

from pipelines.audio.compressed_writer import CompressedWriter
from pipelines.audio.encoding import SpeechEncoder, SpeechFormat
from pipelines.audio.formats import SPEECH_RATE_HZ, Encoding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_UNKNOWN_LENGTH = 0xFFFF_FFFF
_BITS_PER_SECOND = 64_000


class SpeechFile(enum.Enum):
    """A kind of file, and its media type."""

    WAV = "audio/wav"
    PCM = "audio/pcm"
    MP3 = "audio/mpeg"
    FLAC = "audio/flac"
    OPUS = "audio/ogg"
    AAC = "audio/aac"


class SpeechFileWriter:
    """Writes one file: mono, at 24 kHz.

    Args:
        kind: what it becomes.
    """

    def __init__(self, kind: SpeechFile) -> None:
        self._head = _wav_header() if kind is SpeechFile.WAV else b""
        encoding = Encoding.OGGOPUS if kind is SpeechFile.OPUS else Encoding.LINEAR_PCM
        self._plain = SpeechEncoder(SpeechFormat(encoding)) if kind not in _COMPRESSED else None
        self._compressed = _COMPRESSED[kind]() if kind in _COMPRESSED else None

    @property
    def compresses(self) -> bool:
        """True if writing takes milliseconds and belongs in another thread."""
        return self._plain is None or self._plain.compresses

    def write(self, samples: npt.NDArray[np.float32]) -> bytes:
        """Encode samples, mono at 24 kHz; return the bytes that are ready."""
        head, self._head = self._head, b""
        if self._compressed is not None:
            return self._compressed.write(samples)
        assert self._plain is not None
        return head + self._plain.encode(samples)

    def close(self) -> bytes:
        """Return what was held back; nothing follows."""
        if self._compressed is not None:
            return self._compressed.close()
        assert self._plain is not None
        head, self._head = self._head, b""
        return head + self._plain.flush()


def _wav_header() -> bytes:
    """Return a header of 16-bit samples whose number is not known yet."""
    fmt = struct.pack("<HHIIHH", 1, 1, SPEECH_RATE_HZ, 2 * SPEECH_RATE_HZ, 2, 16)
    return (
        b"RIFF" + struct.pack("<I", _UNKNOWN_LENGTH) + b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt
        + b"data" + struct.pack("<I", _UNKNOWN_LENGTH)
    )  # fmt: skip


def _mp3() -> CompressedWriter:
    options = {"write_xing": "0", "id3v2_version": "0"}
    return CompressedWriter("mp3", "libmp3lame", SPEECH_RATE_HZ, _BITS_PER_SECOND, options=options, whole_samples=True)


def _flac() -> CompressedWriter:
    return CompressedWriter("flac", "flac", SPEECH_RATE_HZ, whole_samples=True)


def _aac() -> CompressedWriter:
    return CompressedWriter("adts", "aac", SPEECH_RATE_HZ, _BITS_PER_SECOND, whole_samples=True)


_COMPRESSED = {SpeechFile.MP3: _mp3, SpeechFile.FLAC: _flac, SpeechFile.AAC: _aac}
