"""The audio of a conversation that may still be needed, addressed by sample number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class Timeline:
    """Samples at 16 kHz, numbered from the start of the conversation; the oldest are forgotten on request."""

    def __init__(self) -> None:
        self._samples: npt.NDArray[np.float32] = np.zeros(0, np.float32)
        self._first = 0

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def end(self) -> int:
        """Number of the sample that comes next."""
        return self._first + len(self._samples)

    def append(self, samples: npt.NDArray[np.float32]) -> None:
        """Adds what was heard next, float32 ``[samples]``."""
        self._samples = np.concatenate((self._samples, samples))

    def get(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        """Returns samples ``start`` up to ``stop``, exclusive.

        Raises:
            IndexError: some of them were forgotten, or were not heard yet.
        """
        if not self._first <= start <= stop <= self.end:
            raise IndexError(f"samples {start} to {stop} are not held: {self._first} to {self.end} are")
        return self._samples[start - self._first : stop - self._first]

    def forget_before(self, sample: int) -> None:
        """Forgets everything before ``sample``."""
        sample = min(sample, self.end)
        if sample > self._first:
            self._samples = self._samples[sample - self._first :].copy()
            self._first = sample
