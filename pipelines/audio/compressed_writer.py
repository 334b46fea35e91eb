"""Files of compressed speech, written piece by piece by PyAV."""

from __future__ import annotations

from typing import TYPE_CHECKING

import av
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt


class CompressedWriter:
    """Writes one file with one channel, of which nobody goes back to the beginning.

    Args:
        container: libavformat's name of the file's format.
        codec: libavcodec's name of the encoder.
        rate_hz: sample rate.
        bits_per_second: how much the encoder may write; None where that is not chosen.
        options: of the container.
        whole_samples: whether the encoder gets 16-bit samples; otherwise floats.
    """

    def __init__(
        self,
        container: str,
        codec: str,
        rate_hz: int,
        bits_per_second: int | None = None,
        *,
        options: Mapping[str, str] | None = None,
        whole_samples: bool = False,
    ) -> None:
        self._bytes = _Bytes()
        self._file = av.open(self._bytes, "w", format=container, options={"flush_packets": "1", **(options or {})})
        stream = self._file.add_stream(codec, rate=rate_hz, layout="mono")
        assert isinstance(stream, av.AudioStream)
        if bits_per_second is not None:
            stream.bit_rate = bits_per_second
        self._stream = stream
        self._rate_hz = rate_hz
        self._whole_samples = whole_samples
        self._position = 0

    def write(self, samples: npt.NDArray[np.float32]) -> bytes:
        """Encode samples, float32 ``[samples]``; return the bytes that are ready."""
        if len(samples):
            if self._whole_samples:
                whole = np.round(np.clip(samples, -1, 1) * 32767).astype(np.int16)
                frame = av.AudioFrame.from_ndarray(whole[np.newaxis], format="s16", layout="mono")
            else:
                floats = samples[np.newaxis].astype(np.float32)
                frame = av.AudioFrame.from_ndarray(floats, format="flt", layout="mono")
            frame.sample_rate, frame.pts = self._rate_hz, self._position
            self._position += len(samples)
            self._file.mux(self._stream.encode(frame))
        return self._bytes.take()

    def close(self) -> bytes:
        """Return what was held back; nothing follows."""
        self._file.mux(self._stream.encode(None))
        self._file.close()
        return self._bytes.take()


class _Bytes:
    """File-like buffer that PyAV writes to; without ``seek`` it is a stream."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken
