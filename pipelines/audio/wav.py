"""Incremental WAV decoder: RIFF, RF64 (EBU Tech 3306), BW64 (ITU-R BS.2088)."""

from __future__ import annotations

import re
import struct
from typing import ClassVar, Final

from pipelines.audio.chunked import MAX_DESCRIPTION_BYTES, ChunkedDecoder
from pipelines.audio.samples import SampleLayout, pcm_layout
from pipelines.errors import UndecodableAudioError

_RIFF_HEADER_BYTES = 12
_CHUNK_HEADER_BYTES = 8
_FORMAT_BYTES = 16
_EXTENSIBLE = 0xFFFE
_MIN_UNKNOWN_LENGTH: Final = 0x7FFFF000
"""Writers to a pipe, which cannot know the length of the samples, write 0 or something from here on."""

_CODINGS: Final = {
    0x02: "Microsoft ADPCM",
    0x11: "IMA ADPCM",
    0x31: "GSM 6.10",
    0x50: "MPEG audio",
    0x55: "MP3",
    0xFF: "AAC",
    0x161: "Windows Media Audio",
}


class WavDecoder(ChunkedDecoder):
    """WAV decoder: integers, floats, mu-law and A-law; see :class:`ChunkedDecoder`."""

    name = "WAV"
    start = re.compile(rb"(RIFF|RF64|BW64)....WAVE", re.DOTALL)
    start_bytes = 12
    marks: ClassVar[tuple[bytes, ...]] = (b"RIFF", b"RF64", b"BW64")

    _layout_read: SampleLayout | None = None
    _rate_hz = _format_channels = 0
    _long_length: int | None = None
    _begun = False

    def begin_file(self) -> None:
        """Forget what was read of the last file: another one follows."""
        self._layout_read, self._long_length, self._begun = None, None, False

    def read_chunk(self, held: bytearray) -> bool:
        """Read one chunk; see :class:`ChunkedDecoder`."""
        if not self._begun:
            if len(held) < _RIFF_HEADER_BYTES:
                return False
            if not self.start.match(held):
                raise UndecodableAudioError("the WAV header is damaged: it does not say WAVE")
            self._begun = True
            self.skip(_RIFF_HEADER_BYTES)
            return True
        if len(held) < _CHUNK_HEADER_BYTES:
            return False
        name, length = struct.unpack_from("<4sI", held)
        if name == b"data":
            known = 0 < length < _MIN_UNKNOWN_LENGTH
            self._begin_samples(length if known else self._long_length, _CHUNK_HEADER_BYTES)
            return True
        if name in {b"fmt ", b"ds64"}:
            return self._read(bytes(name), held, length)
        # Chunks are padded to an even length.
        self.skip(_CHUNK_HEADER_BYTES + length + length % 2)
        return True

    def _read(self, name: bytes, held: bytearray, length: int) -> bool:
        """Read a chunk that describes the samples."""
        if length > MAX_DESCRIPTION_BYTES:
            raise UndecodableAudioError("the WAV header is damaged: its format is longer than any")
        if len(held) < _CHUNK_HEADER_BYTES + length:
            return False
        body = bytes(held[_CHUNK_HEADER_BYTES : _CHUNK_HEADER_BYTES + length])
        if name == b"fmt ":
            self._read_format(body)
        elif length >= 16:
            self._long_length = struct.unpack_from("<Q", body, 8)[0] or None
        self.skip(_CHUNK_HEADER_BYTES + length + length % 2)
        return True

    def _read_format(self, body: bytes) -> None:
        if len(body) < _FORMAT_BYTES:
            raise UndecodableAudioError("the WAV header is damaged: its format is too short")
        tag, self._format_channels, self._rate_hz, _, _, bits = struct.unpack_from("<HHIIHH", body)
        if tag == _EXTENSIBLE and len(body) >= 26:
            (tag,) = struct.unpack_from("<H", body, 24)
        match tag:
            case 1:
                self._layout_read = pcm_layout(bits, unsigned_bytes=True)
            case 3 if bits in {32, 64}:
                self._layout_read = SampleLayout("float", bits // 8)
            case 6 | 7:
                self._layout_read = SampleLayout("alaw" if tag == 6 else "mulaw", 1)
            case _:
                self._layout_read = None
        if self._layout_read is None:
            raise self.refuse(_CODINGS.get(tag, f"samples of format {tag} and {bits} bits"))

    def _begin_samples(self, length: int | None, header_bytes: int) -> None:
        self.begin_samples(self._layout_read, self._rate_hz, self._format_channels, length, header_bytes)


class Wave64Decoder(WavDecoder):
    """Decoder of Sony's Wave64: WAV with GUIDs and 64-bit lengths."""

    name = "Wave64"
    start = re.compile(rb"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00")
    start_bytes = 16
    marks = (b"riff\x2e\x91\xcf\x11",)

    def read_chunk(self, held: bytearray) -> bool:
        """Read one chunk; see :class:`ChunkedDecoder`."""
        if not self._begun:
            if len(held) < _WAVE64_FILE_BYTES:
                return False
            self._begun = True
            self.skip(_WAVE64_FILE_BYTES)
            return True
        if len(held) < _WAVE64_CHUNK_BYTES:
            return False
        name, length = bytes(held[:4]), int.from_bytes(held[16:_WAVE64_CHUNK_BYTES], "little")
        if length < _WAVE64_CHUNK_BYTES:
            raise UndecodableAudioError("the Wave64 header is damaged: a chunk is shorter than its own header")
        if name == b"data":
            size = length - _WAVE64_CHUNK_BYTES
            self._begin_samples(size if 0 < size < 1 << 62 else None, _WAVE64_CHUNK_BYTES)
            return True
        if name == b"fmt ":
            if length > MAX_DESCRIPTION_BYTES:
                raise UndecodableAudioError("the Wave64 header is damaged: its format is longer than any")
            if len(held) < length:
                return False
            self._read_format(bytes(held[_WAVE64_CHUNK_BYTES:length]))
        # Chunks are padded to multiples of 8 bytes.
        self.skip(length + -length % 8)
        return True


_WAVE64_FILE_BYTES: Final = 40
_WAVE64_CHUNK_BYTES: Final = 24
