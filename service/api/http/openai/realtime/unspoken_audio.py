"""Audio of a session that belongs to no utterance yet.

A client may change its session while it sends audio already. Where that takes another conversation, it begins with what
no utterance of the one before has.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_SAMPLES = 5 * MODEL_RATE_HZ
"""Of more, the earliest is dropped: it is silence, or an utterance would have begun."""


class UnspokenAudio:
    """Latest audio of one conversation, 16 kHz."""

    def __init__(self) -> None:
        self._pieces: collections.deque[npt.NDArray[np.float32]] = collections.deque()
        self._first = self._end = 0

    def add(self, samples: npt.NDArray[np.float32], taken_to: int) -> None:
        """Keep the next samples; those before ``taken_to`` are taken, or were given up."""
        self._pieces.append(samples)
        self._end += len(samples)
        self._drop_before(max(taken_to, self._end - MAX_SAMPLES))

    def end(self, taken_to: int) -> int:
        """End the conversation; return how many samples the next one begins with."""
        self._drop_before(taken_to)
        if self._pieces and taken_to > self._first:
            self._pieces[0] = self._pieces[0][taken_to - self._first :]
            self._first = taken_to
        return self._end - self._first

    def _drop_before(self, sample: int) -> None:
        while self._pieces and self._first + len(self._pieces[0]) <= sample:
            self._first += len(self._pieces.popleft())

    def take(self) -> list[npt.NDArray[np.float32]]:
        """Return what a conversation begins with, once."""
        pieces = list(self._pieces)
        self._pieces.clear()
        self._first = self._end = 0
        return pieces
