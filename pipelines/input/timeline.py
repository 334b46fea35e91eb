"""Buffer of a conversation's audio, addressed by sample number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MIN_ROOM = 16_000


class Timeline:
    """Samples at 16 kHz, numbered from the conversation's start.

    Attributes:
        end: number of the sample that comes next.
    """

    def __init__(self) -> None:
        # What is held lies between two places of a buffer with room at its end, so that few samples are ever moved.
        self._buffer: npt.NDArray[np.float32] = np.zeros(_MIN_ROOM, np.float32)
        self._begin = self._stop = 0
        self._first = self.end = 0

    def __len__(self) -> int:
        return self._stop - self._begin

    def append(self, samples: npt.NDArray[np.float32]) -> None:
        """Add what was heard next, float32 ``[samples]``."""
        if self._stop + len(samples) > len(self._buffer):
            self._make_room(len(samples))
        self._buffer[self._stop : self._stop + len(samples)] = samples
        self._stop += len(samples)
        self.end += len(samples)

    def get(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        """Return samples ``start`` up to ``stop``, exclusive, which stay as they are.

        Raises:
            IndexError: some of them were forgotten, or were not heard yet.
        """
        if not self._first <= start <= stop <= self.end:
            raise IndexError(f"samples {start} to {stop} are not held: {self._first} to {self.end} are")
        shift = self._begin - self._first
        return self._buffer[start + shift : stop + shift]

    def forget_before(self, sample: int) -> None:
        """Forget everything before ``sample``."""
        sample = min(sample, self.end)
        if sample > self._first:
            self._begin += sample - self._first
            self._first = sample

    def _make_room(self, samples: int) -> None:
        """Move to a new buffer, so that views of the old one stay valid."""
        held = self._buffer[self._begin : self._stop]
        self._buffer = np.empty(max(_MIN_ROOM, 2 * (len(held) + samples)), np.float32)
        self._buffer[: len(held)] = held
        self._begin, self._stop = 0, len(held)
