"""Decodes Apple's Core Audio Format (specification 1.0) as it arrives."""

from __future__ import annotations

import re
import struct
from typing import Final

from pipelines.audio.chunked import MAX_DESCRIPTION_BYTES, ChunkedDecoder
from pipelines.audio.samples import SampleLayout, pcm_layout
from pipelines.errors import UndecodableAudioError

_FILE_HEADER_BYTES = 8
_CHUNK_HEADER_BYTES = 12
_DESCRIPTION_BYTES = 32
_EDIT_COUNT_BYTES = 4
_FLOAT = 1
_LITTLE_ENDIAN = 2
_CODINGS: Final = {b"aac ": "AAC", b"alac": "Apple Lossless", b"ima4": "IMA ADPCM", b"opus": "Opus", b".mp3": "MP3"}


class CafDecoder(ChunkedDecoder):
    """CAF decoder: integers, floats, mu-law and A-law; see :class:`ChunkedDecoder`."""

    name = "CAF"
    start = re.compile(rb"caff\x00\x01\x00\x00desc")
    start_bytes = 12
    marks = (b"caff\x00\x01",)

    _layout_read: SampleLayout | None = None
    _rate_hz = _format_channels = 0
    _begun = False

    def begin_file(self) -> None:
        """Forget what was read of the last file: another one follows."""
        self._layout_read, self._begun = None, False

    def read_chunk(self, held: bytearray) -> bool:
        """Read one chunk; see :class:`ChunkedDecoder`."""
        if not self._begun:
            if len(held) < _FILE_HEADER_BYTES:
                return False
            self._begun = True
            self.skip(_FILE_HEADER_BYTES)
            return True
        if len(held) < _CHUNK_HEADER_BYTES:
            return False
        name, length = struct.unpack_from(">4sq", held)
        if name == b"data":
            known = length > _EDIT_COUNT_BYTES
            self.begin_samples(
                self._layout_read,
                self._rate_hz,
                self._format_channels,
                length - _EDIT_COUNT_BYTES if known else None,
                _CHUNK_HEADER_BYTES + _EDIT_COUNT_BYTES,
            )
            return True
        if length < 0:
            raise UndecodableAudioError("the CAF header is damaged: a chunk has no length")
        if name == b"desc":
            if not _DESCRIPTION_BYTES <= length <= MAX_DESCRIPTION_BYTES:
                raise UndecodableAudioError("the CAF header is damaged: its description has another length than any")
            if len(held) < _CHUNK_HEADER_BYTES + length:
                return False
            self._read_description(bytes(held[_CHUNK_HEADER_BYTES : _CHUNK_HEADER_BYTES + _DESCRIPTION_BYTES]))
        self.skip(_CHUNK_HEADER_BYTES + length)
        return True

    def _read_description(self, body: bytes) -> None:
        rate, coding, flags, _, _, self._format_channels, bits = struct.unpack(">d4s5I", body)
        # Also of NaN and infinity, which are no rate.
        self._rate_hz = round(rate) if 0 < rate < 1 << 31 else 0
        big_endian = not flags & _LITTLE_ENDIAN
        if coding == b"lpcm" and flags & _FLOAT:
            self._layout_read = SampleLayout("float", bits // 8, big_endian) if bits in {32, 64} else None
        elif coding == b"lpcm":
            self._layout_read = pcm_layout(bits, big_endian=big_endian)
        else:
            kinds = {b"ulaw": SampleLayout("mulaw", 1), b"alaw": SampleLayout("alaw", 1)}
            self._layout_read = kinds.get(coding)
        if self._layout_read is None:
            told = coding.decode("ascii", "replace")
            raise self.refuse(_CODINGS.get(coding, f"samples of format {told!r} and {bits} bits"))
