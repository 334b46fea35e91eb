"""Sound files that libsndfile cannot read: WebM, MP4, AAC. Loads PyAV."""

from __future__ import annotations

import io
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import av
import av.error
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_MAX_DAMAGED_PACKETS = 1_000
"""So many packets in a row that cannot be decoded end a file."""


class LibavFile:
    """The first sound track of a file, read from beginning to end."""

    def __init__(self, container: av.container.InputContainer) -> None:
        self._container = container
        self._stream = container.streams.audio[0]
        self.samplerate = self._stream.codec_context.sample_rate or 0

    def mono_blocks(self, sample_count: int) -> Iterator[NDArray[np.float32]]:
        """Yield the rest, -1 to 1, as arrays of shape [sample_count], mixed to mono."""
        held = np.zeros(0, np.float32)
        for samples in self._samples():
            held = np.concatenate([held, samples])
            while len(held) >= sample_count:
                yield held[:sample_count]
                held = held[sample_count:]
        if len(held):
            yield held

    def count_samples(self) -> int:
        """Return the number of samples; to count them, a file that does not tell is read."""
        samples = self._samples()
        counted = len(next(samples, ()))
        told, base = self._stream.duration, self._stream.time_base
        if counted and told and base:
            return max(counted, round(told * base * self.samplerate))
        return counted + sum(map(len, samples))

    def _samples(self) -> Iterator[NDArray[np.float32]]:
        resampler = av.AudioResampler(format="flt", layout="mono", rate=self.samplerate)
        for frame in self._frames():
            try:
                mono = resampler.resample(frame)
            except (av.error.FFmpegError, ValueError):
                # Damage looks like another rate, or like dozens of channels.
                continue
            for part in mono:
                yield part.to_ndarray()[0]

    def _frames(self) -> Iterator[av.AudioFrame]:
        damaged = 0
        packets = self._container.demux(self._stream)
        while damaged < _MAX_DAMAGED_PACKETS:
            try:
                packet = next(packets)
            except (StopIteration, av.error.FFmpegError):
                # A file that breaks off ends there.
                return
            try:
                frames = packet.decode()
            except av.error.FFmpegError:
                damaged += 1
                continue
            damaged = 0
            yield from frames


@contextmanager
def open_with_libav(source: Path | bytes) -> Iterator[LibavFile]:
    """Open a file, or the content of one, and close it at the end.

    Raises:
        ValueError: It holds no sound that can be read.
    """
    with ExitStack() as stack:
        # PyAV does not take every name of a file, and closes no file that it has not opened.
        file = stack.enter_context(io.BytesIO(source) if isinstance(source, bytes) else source.open("rb"))
        try:
            container = stack.enter_context(av.open(file, "r"))
        except (av.error.FFmpegError, ValueError) as error:
            raise ValueError("Format not recognised") from error
        if not container.streams.audio or container.streams.audio[0].codec_context is None:
            raise ValueError("No sound track")
        yield LibavFile(container)
