"""Compressed audio for tests: noise as libsndfile encodes it, and silence packed as tightly as the formats allow."""

import io

import numpy as np
import soundfile

FLAC_FRAME_SAMPLES = 4_096
"""So many libFLAC puts into a frame."""


def noise(seconds: float, rate: int = 16_000) -> np.ndarray:
    return np.random.default_rng(1).uniform(-0.3, 0.3, round(seconds * rate)).astype(np.float32)


def flac(samples: np.ndarray, *, rate: int = 16_000, channels: int = 1, subtype: str = "PCM_16") -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, np.stack([samples] * channels, axis=1), rate, format="FLAC", subtype=subtype)
    return buffer.getvalue()


def silent_flac(frames: int, frame_samples: int, rate: int) -> bytes:
    """Frames of constant zeros (RFC 9639, section 9), 16 bits and one channel, each numbered 0."""
    format_and_length = rate << 44 | 15 << 36 | frames * frame_samples
    streaminfo = frame_samples.to_bytes(2, "big") * 2 + bytes(6) + format_and_length.to_bytes(8, "big") + bytes(16)
    # The sizes of blocks have codes of their own, or are written out less one; all else is as STREAMINFO says.
    code, written_out = {4_608: (5, b"")}.get(frame_samples, (7, (frame_samples - 1).to_bytes(2, "big")))
    head = bytes([0xFF, 0xF8, code << 4, 0x00, 0x00]) + written_out
    frame = head + _crc(head, 0x07, 8) + bytes(3)
    return b"fLaC\x80\x00\x00\x22" + streaminfo + (frame + _crc(frame, 0x8005, 16)) * frames


def silent_opus(pages: int) -> bytes:
    """Pages of 255 packets without audio, 120 ms each (RFC 6716, section 3.2.5: a count of six, all of zero bytes)."""
    head = b"OpusHead\x01\x01" + bytes(2) + (48_000).to_bytes(4, "little") + bytes(3)
    packet = bytes([1 << 3 | 3, 6])
    return b"".join([_page([head]), _page([b"OpusTags" + bytes(8)]), _page([packet] * 255) * pages])


def _page(packets: list[bytes]) -> bytes:
    """An Ogg page (RFC 3533) whose checksum and number nobody looks at."""
    return b"OggS" + bytes(22) + bytes([len(packets), *map(len, packets)]) + b"".join(packets)


def _crc(data: bytes, polynomial: int, bits: int) -> bytes:
    """The cyclic redundancy checks of FLAC frames: highest bit first, beginning with zero."""
    value = 0
    for byte in data:
        value ^= byte << bits - 8
        for _ in range(8):
            value = value << 1 ^ (polynomial if value >> bits - 1 else 0)
            value &= (1 << bits) - 1
    return value.to_bytes(bits // 8, "big")
