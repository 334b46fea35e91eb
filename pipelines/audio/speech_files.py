"""Files of synthesized speech, written as it comes: nobody goes back to their beginning."""

from __future__ import annotations

import enum
import struct
from typing import TYPE_CHECKING

import av
import numpy as np

from pipelines.audio.encoding import SpeechEncoder, SpeechFormat
from pipelines.audio.formats import Encoding
from pipelines.models.synthesis_port import SPEECH_RATE_HZ

if TYPE_CHECKING:
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
        self._plain = SpeechEncoder(SpeechFormat(encoding)) if kind not in _CONTAINERS else None
        self._container = _Container(*_CONTAINERS[kind]) if kind in _CONTAINERS else None

    @property
    def compresses(self) -> bool:
        """Whether writing takes milliseconds and belongs into another thread."""
        return self._plain is None or self._plain.compresses

    def write(self, samples: npt.NDArray[np.float32]) -> bytes:
        """Returns what the next samples, mono at 24 kHz, add to the file; it may come later."""
        head, self._head = self._head, b""
        if self._container is not None:
            return self._container.encode(samples)
        assert self._plain is not None
        return head + self._plain.encode(samples)

    def close(self) -> bytes:
        """Returns what was held back; nothing follows."""
        if self._container is not None:
            return self._container.close()
        assert self._plain is not None
        head, self._head = self._head, b""
        return head + self._plain.flush()


def _wav_header() -> bytes:
    """Returns a header of 16-bit samples whose number is not known yet."""
    fmt = struct.pack("<HHIIHH", 1, 1, SPEECH_RATE_HZ, 2 * SPEECH_RATE_HZ, 2, 16)
    return (
        b"RIFF" + struct.pack("<I", _UNKNOWN_LENGTH) + b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt
        + b"data" + struct.pack("<I", _UNKNOWN_LENGTH)
    )  # fmt: skip


class _Bytes:
    """File-like buffer that PyAV writes to; without ``seek`` it is a stream."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken


_CONTAINERS = {
    SpeechFile.MP3: ("mp3", "libmp3lame", {"write_xing": "0", "id3v2_version": "0"}),
    SpeechFile.FLAC: ("flac", "flac", {}),
    SpeechFile.AAC: ("adts", "aac", {}),
}


class _Container:
    """A file that PyAV writes."""

    def __init__(self, container: str, codec: str, options: dict[str, str]) -> None:
        self._bytes = _Bytes()
        self._file = av.open(self._bytes, "w", format=container, options={"flush_packets": "1", **options})
        stream = self._file.add_stream(codec, rate=SPEECH_RATE_HZ, layout="mono")
        assert isinstance(stream, av.AudioStream)
        self._stream = stream
        if codec != "flac":
            self._stream.bit_rate = _BITS_PER_SECOND
        self._position = 0

    def encode(self, samples: npt.NDArray[np.float32]) -> bytes:
        if len(samples):
            # As 16-bit samples, which is what WAV and PCM have, too.
            whole = np.round(np.clip(samples, -1, 1) * 32767).astype(np.int16)
            frame = av.AudioFrame.from_ndarray(whole[np.newaxis], format="s16", layout="mono")
            frame.sample_rate, frame.pts = SPEECH_RATE_HZ, self._position
            self._position += len(samples)
            self._file.mux(self._stream.encode(frame))
        return self._bytes.take()

    def close(self) -> bytes:
        self._file.mux(self._stream.encode(None))
        self._file.close()
        return self._bytes.take()
