"""Skipping of tags around recordings: ID3v1, ID3v2 and APEv2."""

from __future__ import annotations

from typing import Final

_ID3V1: Final = b"TAG"
_ID3V1_BYTES = 128
_ID3V2: Final = b"ID3"
_ID3V2_BYTES = 10
_ID3V2_FOOTER = 0x10
_APE: Final = b"APETAGEX"
_APE_BYTES = 32
_APE_IS_HEADER = 1 << 29
_MARKS: Final = (_ID3V1, _ID3V2, _APE)


class TagSkipper:
    """Skipper of tags where a recording or a frame may begin."""

    def __init__(self) -> None:
        self._left = 0

    def skip(self, held: bytearray) -> bool:
        """Take tags away from the beginning of ``held``.

        Returns:
            False where more must come before it is clear what ``held`` begins with.
        """
        while True:
            skipped = min(self._left, len(held))
            del held[:skipped]
            self._left -= skipped
            if self._left:
                return False
            if (length := _tag_bytes(held)) is None:
                return False
            if not length:
                return True
            self._left = length


def _tag_bytes(held: bytearray) -> int | None:
    """Return the length of the tag at the beginning, 0 for none, None if unclear."""
    if held.startswith(_ID3V1):
        return _ID3V1_BYTES
    if held.startswith(_ID3V2):
        if len(held) < _ID3V2_BYTES:
            return None
        # Each byte of the size has seven bits.
        size = held[6] << 21 | held[7] << 14 | held[8] << 7 | held[9]
        return _ID3V2_BYTES + size + (_ID3V2_BYTES if held[5] & _ID3V2_FOOTER else 0)
    if held.startswith(_APE):
        if len(held) < _APE_BYTES:
            return None
        # The size leaves out a header, but not a footer, which may be all that there is of it.
        is_header = int.from_bytes(held[20:24], "little") & _APE_IS_HEADER
        return _APE_BYTES + int.from_bytes(held[12:16], "little") if is_header else _APE_BYTES
    return None if held and any(mark.startswith(held) for mark in _MARKS) else 0
