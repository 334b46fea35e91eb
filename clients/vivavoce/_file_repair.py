"""Mends files that libsndfile would not read to their end."""

from __future__ import annotations

import re

_PAGE_BYTES = 27
_ID3V1_BYTES = 128
_ID3V1 = b"TAG"
_POLYNOMIAL = 0x04C11DB7
_MIN_UNKNOWN_LENGTH = 0x7FFFF000
"""Writers to a pipe, which cannot know the length, write 0 or something from here on."""
_WAV = re.compile(rb"(RIFF|RF64)....WAVE", re.DOTALL)

HEAD_BYTES = 16
TAIL_BYTES = 1 << 17
"""Holds a whole page of Ogg."""


def parts(content: bytes) -> list[bytes]:
    """Return the files that libsndfile must read in turn to hear all of `content`."""
    head = content[:HEAD_BYTES]
    if _WAV.match(head):
        starts = [found.start() for found in _WAV.finditer(content)]
        return [content[start:stop] for start, stop in zip(starts, [*starts[1:], len(content)], strict=True)]
    if head.startswith(b"fLaC"):
        return [content[:-_ID3V1_BYTES]]
    return [_with_last_page(content)]


def wav_end(head: bytes) -> int:
    """Return the end of a WAV file by its header; 0 where it is not known."""
    size = int.from_bytes(head[4:8], "little")
    return 8 + size + size % 2 if _WAV.match(head) and 0 < size < _MIN_UNKNOWN_LENGTH else 0


def needs_mending(head: bytes, behind: bytes, tail: bytes) -> bool:
    """Return whether `parts` might change a file.

    Args:
        head: Its first `HEAD_BYTES`.
        behind: As many bytes from `wav_end` on.
        tail: Its last `TAIL_BYTES`, or all of it.
    """
    if _WAV.match(head):
        # RF64 tells its length elsewhere.
        return bool(_WAV.match(behind)) if wav_end(head) else head.startswith(b"RIFF")
    if head.startswith(b"fLaC"):
        return tail[-_ID3V1_BYTES:].startswith(_ID3V1)
    at = tail.rfind(b"OggS") if head.startswith(b"OggS") else -1
    return at >= 0 and _is_cut(tail[at:])


def _is_cut(page: bytes) -> bool:
    return len(page) < _PAGE_BYTES or len(page) < _PAGE_BYTES + page[26] + sum(page[27 : 27 + page[26]])


def _with_last_page(content: bytes) -> bytes:
    """Return the whole packets of Ogg that breaks off in its last page (RFC 3533)."""
    at = content.rfind(b"OggS")
    page = content[at:]
    lacing = page[_PAGE_BYTES : _PAGE_BYTES + page[26]] if len(page) >= _PAGE_BYTES else b""
    body = page[_PAGE_BYTES + len(lacing) :]
    while lacing and (sum(lacing) > len(body) or lacing[-1] == 255):
        lacing = lacing[:-1]
    if not lacing:
        return content[:at]
    # Without the CRC, which counts as zeros.
    mended = page[:22] + bytes(4) + bytes([len(lacing)]) + lacing + body[: sum(lacing)]
    return content[:at] + mended[:22] + _crc(mended).to_bytes(4, "little") + mended[26:]


def _crc(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = crc << 1 ^ (_POLYNOMIAL if crc & 0x80000000 else 0)
        crc &= 0xFFFFFFFF
    return crc
