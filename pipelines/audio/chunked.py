"""Uncompressed audio in files of chunks (WAV, AIFF, CAF), decoded as it arrives."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pipelines.audio.headers import check_follows, check_header
from pipelines.audio.sample_decoder import NO_BLOCK, PieceDecoder
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat
    from pipelines.audio.samples import SampleLayout

MAX_DESCRIPTION_BYTES: Final = 1 << 16
"""No chunk that describes samples is longer, unless it is damaged."""


class ChunkedDecoder(PieceDecoder):
    """Base of incremental decoders of uncompressed audio in chunks.

    Chunks that do not describe the samples are skipped and never held. Files may follow one another in one stream, as
    from a client that sends every piece as a file of its own.

    Args:
        promised: what the caller says of the audio. The header outranks the sample rate; a number of channels other
            than 0 must be the header's.
    """

    name: ClassVar[str]
    """Name of the format, for errors."""
    start: ClassVar[re.Pattern[bytes]]
    """What a file begins with."""
    start_bytes: ClassVar[int]
    """Length of what :attr:`start` matches."""
    marks: ClassVar[tuple[bytes, ...]]
    """What :attr:`start` may begin with."""

    def __init__(self, promised: AudioFormat) -> None:
        super().__init__()
        self._promised = promised
        self._held = bytearray()
        self._skip = 0
        self._layout: SampleLayout | None = None
        self._channels = 0
        self._in_samples = False
        self._heard = False
        self._left: int | None = 0

    def decode_piece(self, piece: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the samples of ``piece`` as float32 ``[samples, channels]``."""
        self._held += piece
        while True:
            skipped = min(self._skip, len(self._held))
            del self._held[:skipped]
            self._skip -= skipped
            if self._skip:
                return
            if not self._in_samples:
                if not self.read_chunk(self._held):
                    return
                continue
            found = self.start.search(self._held)
            samples = self._take(found.start() if found else len(self._held) - self._undecided())
            if len(samples):
                yield samples
            if found is None:
                return
            # A part of a sample in front of the next file belongs to none.
            following = self.start.search(self._held)
            assert following is not None
            del self._held[: following.start()]
            self._in_samples = False
            self.begin_file()

    def flush(self) -> npt.NDArray[np.float32]:
        """Return the samples that might have been the beginning of another file."""
        if not self._heard and not self._in_samples:
            raise UndecodableAudioError(f"the {self.name} audio ends inside its header: send all of it")
        if not self._in_samples:
            return NO_BLOCK
        samples = self._take(len(self._held))
        if self._held and self._left != 0:
            self.note_damage(f"the {self.name} audio ends inside a sample, which was left out")
        return samples

    @abc.abstractmethod
    def read_chunk(self, held: bytearray) -> bool:
        """Read one chunk, or what precedes the first one, from the beginning of ``held``.

        Returns:
            False where more of it must come first. Otherwise it was taken by :meth:`skip` or :meth:`begin_samples`.
        """

    @abc.abstractmethod
    def begin_file(self) -> None:
        """Forget what was read of the last file: another one follows."""

    def skip(self, count: int) -> None:
        """Skip so many bytes, also such as have not come yet."""
        self._skip = count

    def begin_samples(
        self, layout: SampleLayout | None, rate_hz: int, channels: int, length: int | None, header_bytes: int
    ) -> None:
        """Say that samples follow.

        Args:
            layout: how they are written; None: no description came before them.
            rate_hz: samples a second and channel.
            channels: interleaved channels.
            length: bytes of samples; None where the file does not tell.
            header_bytes: what lies in front of them.
        """
        if layout is None:
            raise UndecodableAudioError(f"the {self.name} header is damaged: its samples come before their format")
        check_header(self._promised, rate_hz, channels)
        if self._channels:
            check_follows(rate_hz, channels, self.sample_rate_hz, self._channels)
        self._layout, self.sample_rate_hz, self._channels = layout, rate_hz, channels
        self._left = length
        self._in_samples = self._heard = True
        self._skip = header_bytes

    def refuse(self, coding: str) -> UndecodableAudioError:
        """Return the error about samples in a coding that is not served."""
        return UndecodableAudioError(f"this is {self.name} with {coding}, which is not served: send 16-bit PCM")

    def _take(self, stop: int) -> npt.NDArray[np.float32]:
        """Take whole samples of the buffer up to ``stop``, without the remainder."""
        assert self._layout is not None
        frame_bytes = self._layout.size * self._channels
        usable = stop if self._left is None else min(stop, self._left)
        whole = usable - usable % frame_bytes
        data = bytes(self._held[:whole])
        taken = whole
        if self._left is not None:
            self._left -= whole
            if self._left < frame_bytes:
                self._left, taken = 0, stop
        del self._held[:taken]
        return self._layout.to_float(data).reshape(-1, self._channels) if data else np.zeros((0, self._channels), "f4")

    def _undecided(self) -> int:
        """Return the bytes at the end that may begin another file."""
        held = self._held
        for position in range(max(0, len(held) - self.start_bytes + 1), len(held)):
            tail = bytes(held[position:])
            if any(mark.startswith(tail[: len(mark)]) for mark in self.marks):
                return len(tail)
        return 0
