"""Reads what stands before the frames of a FLAC stream (RFC 9639, section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipelines.audio.headers import check_header
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from pipelines.audio.formats import AudioFormat

MARKER: Final = b"fLaC"

_BLOCK_HEADER_BYTES = 4
_STREAMINFO_BYTES = 34
_HEADER_BYTES = len(MARKER) + _BLOCK_HEADER_BYTES + _STREAMINFO_BYTES
_LAST = 0x80
_FIELDS = slice(18, 22)
"""20 bits of sample rate, 3 of channels - 1, 5 of bits a sample - 1, and the first 4 of the number of samples."""


class FlacHeader:
    """Reader of STREAMINFO, which skips pictures, comments and the like.

    Args:
        promised: what the caller says of the audio.

    Attributes:
        sample_rate_hz: samples a second and channel; known after the STREAMINFO block, as the others.
        channels: interleaved channels.
        bare: the marker and the STREAMINFO block, marked as the last one.
    """

    def __init__(self, promised: AudioFormat) -> None:
        self.sample_rate_hz = 0
        self.channels = 0
        self.bare = b""
        self._promised = promised
        self._last = False
        self._skip = 0

    def read(self, held: bytearray) -> bool:
        """Consume headers at the beginning of ``held``; return whether frames are next.

        Raises:
            UndecodableAudioError: this is no FLAC stream, or one that is not served.
        """
        if not self.bare:
            if not MARKER.startswith(held[: len(MARKER)]):
                raise UndecodableAudioError(
                    "the audio is no FLAC stream: send it from its header on, or name its encoding"
                )
            if len(held) < _HEADER_BYTES:
                return False
            self._read_streaminfo(bytes(held[:_HEADER_BYTES]))
            del held[:_HEADER_BYTES]
        while self._skip_block(held):
            if self._last:
                return True
            if len(held) < _BLOCK_HEADER_BYTES:
                return False
            self._last = bool(held[0] & _LAST)
            self._skip = int.from_bytes(held[1:_BLOCK_HEADER_BYTES], "big")
            del held[:_BLOCK_HEADER_BYTES]
        return False

    def _skip_block(self, held: bytearray) -> bool:
        """Skip what is there of the block under way; return whether that was all of it."""
        skipped = min(self._skip, len(held))
        del held[:skipped]
        self._skip -= skipped
        return not self._skip

    def _read_streaminfo(self, header: bytes) -> None:
        kind_and_last, length = header[len(MARKER)], int.from_bytes(header[len(MARKER) + 1 : 8], "big")
        if kind_and_last & ~_LAST or length != _STREAMINFO_BYTES:
            raise UndecodableAudioError("the FLAC header is damaged: it does not begin with STREAMINFO")
        packed = int.from_bytes(header[_FIELDS], "big")
        self.sample_rate_hz, self.channels = packed >> 12, (packed >> 9 & 7) + 1
        check_header(self._promised, self.sample_rate_hz, self.channels)
        self._last = bool(kind_and_last & _LAST)
        self.bare = MARKER + bytes([_LAST]) + header[len(MARKER) + 1 :]
