"""Conversion of Wyoming's PCM of any rate, width and channel count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import soxr

from vivavoce.wyoming.errors import RefusedError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from wyoming.audio import AudioChunk, AudioFormat

LOWEST_RATE_HZ, HIGHEST_RATE_HZ = 8_000, 48_000
"""Rates that the service takes as they are."""
_OTHER_RATES_BECOME_HZ = 16_000
_MAX_RATE_HZ = 768_000
_MAX_CHANNELS = 64
_WIDTHS = (1, 2, 3, 4)


def check_format(audio: AudioFormat) -> None:
    """Refuse a format that is none.

    Raises:
        RefusedError: It has no samples, or samples of a width that PCM does not know.
    """
    _check("rate", audio.rate, 1, _MAX_RATE_HZ)
    _check("width", audio.width, _WIDTHS[0], _WIDTHS[-1])
    _check("channels", audio.channels, 1, _MAX_CHANNELS)


def mono(chunk: AudioChunk) -> NDArray[np.float32]:
    """Read the samples of a chunk: unsigned of width 1, else signed little-endian.

    Args:
        chunk: A chunk whose format was checked.

    Returns:
        The samples, -1 to 1, float32 of shape [n], the channels averaged.

    Raises:
        RefusedError: The chunk ends in the middle of a sample.
    """
    frame_bytes = chunk.width * chunk.channels
    if len(chunk.audio) % frame_bytes:
        message = f"An audio-chunk holds {len(chunk.audio)} bytes; send whole samples, {frame_bytes} bytes each."
        raise RefusedError("bad-audio", message)
    samples = _samples(chunk.audio, chunk.width).reshape(-1, chunk.channels)
    return np.asarray(samples.mean(axis=1), np.float32)


class Resampler:
    """Resampler of a stream to a rate that the service takes.

    Attributes:
        rate_hz: Samples a second of what comes out.
    """

    def __init__(self, rate_hz: int) -> None:
        fits = LOWEST_RATE_HZ <= rate_hz <= HIGHEST_RATE_HZ
        self.rate_hz = rate_hz if fits else _OTHER_RATES_BECOME_HZ
        self._stream = None if fits else soxr.ResampleStream(rate_hz, self.rate_hz, 1, dtype="float32")

    def feed(self, samples: NDArray[np.float32], *, last: bool = False) -> NDArray[np.float32]:
        """Take the next samples of shape [n]; return the finished ones, of shape [m]."""
        if self._stream is None:
            return samples
        return np.asarray(self._stream.resample_chunk(samples, last=last), np.float32)


def _check(field: str, value: object, lowest: int, highest: int) -> None:
    if not isinstance(value, int) or not lowest <= value <= highest:
        raise RefusedError(
            "bad-audio", f"The {field} of the audio is {value!r}; send a number from {lowest} to {highest}."
        )


def _samples(audio: bytes, width: int) -> NDArray[np.float32]:
    """Read PCM of 1 to 4 bytes a sample as float32 of shape [n]."""
    if width == 1:
        return (np.frombuffer(audio, np.uint8).astype(np.float32) - 128.0) / 128.0
    if width == 3:  # As the upper bytes of 32-bit integers.
        padded = np.zeros((len(audio) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(audio, np.uint8).reshape(-1, 3)
        audio, width = padded.tobytes(), 4
    return np.frombuffer(audio, f"<i{width}").astype(np.float32) / float(1 << (8 * width - 1))
