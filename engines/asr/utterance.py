"""One utterance while it is being spoken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.features import FeatureCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLE_RATE = 16_000
"""Samples per second of all audio."""


@dataclass(slots=True)
class Utterance:
    """What was heard of an utterance, and what was made of it so far.

    Attributes:
        last_used_seconds: The clock when it was last heard of.
        tokens: Hypothesis over the first ``decoded_samples`` samples; the draft of the next.
        transcript: Its text.
        decoded_samples: Samples that were decoded last time; 0 when nothing has been.
        features: The recognizer's cache.
    """

    last_used_seconds: float = 0.0
    tokens: list[int] = field(default_factory=list)
    transcript: str = ""
    decoded_samples: int = 0
    features: FeatureCache = field(default_factory=FeatureCache)
    _buffer: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    _size: int = 0

    def __len__(self) -> int:
        """Returns the number of samples heard."""
        return self._size

    @property
    def audio(self) -> NDArray[np.float32]:
        """All samples heard, float32 ``[samples]``; a view that is valid until more is added."""
        return self._buffer[: self._size]

    def append(self, samples: NDArray[np.float32]) -> None:
        """Adds samples; the buffer doubles when it is full, so that adding costs the same at every length."""
        size = self._size + len(samples)
        if size > len(self._buffer):
            buffer = np.empty(max(size, 2 * len(self._buffer)), np.float32)
            buffer[: self._size] = self.audio
            self._buffer = buffer
        self._buffer[self._size : size] = samples
        self._size = size
