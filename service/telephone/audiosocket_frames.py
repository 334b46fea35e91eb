"""Frames of AudioSocket.

They have a kind (one byte), a length (two, big-endian) and a payload.

Specification: Asterisk, `res_audiosocket`; https://docs.asterisk.org/Configuration/Channel-Drivers/AudioSocket/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

HANG_UP, NAME, KEY, AUDIO, ERROR = 0x00, 0x01, 0x03, 0x10, 0xFF
RATE_HZ, BYTES_PER_SAMPLE = 8_000, 2
KEYS = frozenset("0123456789*#ABCD")
_HEADER_BYTES = 3


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read the next frame.

    Raises:
        IncompleteReadError: the connection has ended.
    """
    header = await reader.readexactly(_HEADER_BYTES)
    return header[0], await reader.readexactly(int.from_bytes(header[1:], "big"))


def frame_of(kind: int, payload: bytes = b"") -> bytes:
    """Return a frame as it is sent."""
    return bytes((kind,)) + len(payload).to_bytes(2, "big") + payload
