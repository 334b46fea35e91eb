"""Listens in on voice activity."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from pipelines.voice_activity import WINDOW_SECONDS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pipelines.voice_activity import VoiceActivity

_KEPT_WINDOWS = 1_000
"""Half a minute of probabilities, if nobody asks for them."""


class ObservedVoice:
    """Judges windows as another judge does, and remembers what was judged.

    Args:
        judge: what it does.
    """

    def __init__(self, judge: VoiceActivity) -> None:
        self._judge = judge
        self._windows = 0
        self._untold: collections.deque[float] = collections.deque(maxlen=_KEPT_WINDOWS)

    @property
    def heard_seconds(self) -> float:
        """How much audio was judged."""
        return self._windows * WINDOW_SECONDS

    def probability(self, window: npt.NDArray[np.float32]) -> float:
        """Returns the probability that somebody speaks in ``window``, float32 ``[512]`` at 16 kHz."""
        probability = self._judge.probability(window)
        self._windows += 1
        self._untold.append(probability)
        return probability

    def take_probabilities(self) -> list[float]:
        """Returns the probabilities since the last call, one for each 32 ms."""
        taken = list(self._untold)
        self._untold.clear()
        return taken
