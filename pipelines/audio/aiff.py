"""Decodes AIFF and AIFF-C (Apple, 1989 and 1991) as they arrive."""

from __future__ import annotations

import math
import re
import struct
from typing import Final

from pipelines.audio.chunked import MAX_DESCRIPTION_BYTES, ChunkedDecoder
from pipelines.audio.samples import SampleLayout, pcm_layout
from pipelines.errors import UndecodableAudioError

_FORM_HEADER_BYTES = 12
_CHUNK_HEADER_BYTES = 8
_COMMON_BYTES = 18
_OFFSET_BYTES = 8
_MIN_UNKNOWN_LENGTH = 0x7FFFF000
_LAYOUTS: Final = {
    b"fl32": SampleLayout("float", 4, big_endian=True),
    b"fl64": SampleLayout("float", 8, big_endian=True),
    b"ulaw": SampleLayout("mulaw", 1),
    b"alaw": SampleLayout("alaw", 1),
    b"in24": SampleLayout("signed", 3, big_endian=True),
    b"in32": SampleLayout("signed", 4, big_endian=True),
    b"raw ": SampleLayout("unsigned", 1),
}


class AiffDecoder(ChunkedDecoder):
    """AIFF decoder: integers, floats, mu-law and A-law; see :class:`ChunkedDecoder`."""

    name = "AIFF"
    start = re.compile(rb"FORM....AIF[FC]", re.DOTALL)
    start_bytes = 12
    marks = (b"FORM",)

    _layout_read: SampleLayout | None = None
    _rate_hz = _format_channels = 0
    _begun = False

    def begin_file(self) -> None:
        """Forget what was read of the last file: another one follows."""
        self._layout_read, self._begun = None, False

    def read_chunk(self, held: bytearray) -> bool:
        """Read one chunk; see :class:`ChunkedDecoder`."""
        if not self._begun:
            if len(held) < _FORM_HEADER_BYTES:
                return False
            self._begun = True
            self.skip(_FORM_HEADER_BYTES)
            return True
        if len(held) < _CHUNK_HEADER_BYTES:
            return False
        name, length = struct.unpack_from(">4sI", held)
        if name == b"SSND":
            return self._begin_sound(held, length)
        if name == b"COMM":
            if length > MAX_DESCRIPTION_BYTES:
                raise UndecodableAudioError("the AIFF header is damaged: its format is longer than any")
            if len(held) < _CHUNK_HEADER_BYTES + length:
                return False
            self._read_common(bytes(held[_CHUNK_HEADER_BYTES : _CHUNK_HEADER_BYTES + length]))
        self.skip(_CHUNK_HEADER_BYTES + length + length % 2)
        return True

    def _begin_sound(self, held: bytearray, length: int) -> bool:
        if len(held) < _CHUNK_HEADER_BYTES + _OFFSET_BYTES:
            return False
        (offset,) = struct.unpack_from(">I", held, _CHUNK_HEADER_BYTES)
        before = _OFFSET_BYTES + offset
        known = before < length < _MIN_UNKNOWN_LENGTH
        self.begin_samples(
            self._layout_read,
            self._rate_hz,
            self._format_channels,
            length - before if known else None,
            _CHUNK_HEADER_BYTES + before,
        )
        return True

    def _read_common(self, body: bytes) -> None:
        if len(body) < _COMMON_BYTES:
            raise UndecodableAudioError("the AIFF header is damaged: its format is too short")
        self._format_channels, _, bits = struct.unpack_from(">HIH", body)
        self._rate_hz = _extended(body[8:18])
        coding = body[18:22] or b"NONE"
        if coding in {b"NONE", b"twos", b"sowt"}:
            self._layout_read = pcm_layout(bits, big_endian=coding != b"sowt")
        else:
            self._layout_read = _LAYOUTS.get(coding.lower())
        if self._layout_read is None:
            raise self.refuse(f"samples of format {coding.decode('ascii', 'replace')!r} and {bits} bits")


def _extended(data: bytes) -> int:
    """Return a float of 80 bits, rounded."""
    exponent, mantissa = struct.unpack(">HQ", data)
    if exponent >= 0x7FFF:
        return 0
    return round(math.ldexp(mantissa, min(exponent - 16383 - 63, 0)))
