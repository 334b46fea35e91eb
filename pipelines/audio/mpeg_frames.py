"""Frame headers of MPEG audio (ISO/IEC 11172-3, 13818-3) and ADTS (13818-7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HEADER_BYTES: Final = 7
"""Of ADTS; MPEG audio needs four."""

_KBITS: Final = {
    (1, 1): (0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 3): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Kilobits a second by version (2 for 2.5, too) and layer."""
_RATES: Final = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
"""Samples a second by version and its index."""
_AAC_RATES: Final = (
    *(96_000, 88_200, 64_000, 48_000, 44_100, 32_000),
    *(24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350),
)


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """Header of a frame.

    Attributes:
        name: MP3, MPEG layer I or II, or AAC.
        codec: libavcodec's name of what decodes it.
        rate_hz: samples a second and channel.
        frame_bytes: length of the frame, its header included.
    """

    name: str
    codec: str
    rate_hz: int
    frame_bytes: int

    def follows(self, other: FrameHeader) -> bool:
        """Return whether a frame may follow one with the header ``other``."""
        return (self.name, self.rate_hz) == (other.name, other.rate_hz)


def read_frame_header(data: bytes | bytearray) -> FrameHeader | None:
    """Read the header at the beginning of ``data``; None without a whole one."""
    if len(data) < HEADER_BYTES or data[0] != 0xFF or data[1] & 0xE0 != 0xE0:
        return None
    return _adts(data) if data[1] & 0xF6 == 0xF0 else _mpeg(data)


def _adts(data: bytes | bytearray) -> FrameHeader | None:
    rate = data[2] >> 2 & 15
    frame_bytes = (data[3] & 3) << 11 | data[4] << 3 | data[5] >> 5
    if rate >= len(_AAC_RATES) or frame_bytes <= HEADER_BYTES:
        return None
    return FrameHeader("AAC", "aac", _AAC_RATES[rate], frame_bytes)


def _mpeg(data: bytes | bytearray) -> FrameHeader | None:
    version, layer = data[1] >> 3 & 3, 4 - (data[1] >> 1 & 3)
    bits, rate = data[2] >> 4, data[2] >> 2 & 3
    if version == 1 or layer == 4 or bits in {0, 15} or rate == 3:
        return None
    rate_hz = _RATES[version][rate]
    bits_per_second = _KBITS[1 if version == 3 else 2, layer][bits] * 1000
    padding = data[2] >> 1 & 1
    if layer == 1:
        frame_bytes = (12 * bits_per_second // rate_hz + padding) * 4
    else:
        samples = 576 if layer == 3 and version != 3 else 1152
        frame_bytes = samples // 8 * bits_per_second // rate_hz + padding
    name, codec = ("MP3", "mp3float") if layer == 3 else (f"MPEG layer {'I' * layer}", f"mp{layer}float")
    return FrameHeader(name, codec, rate_hz, frame_bytes)
