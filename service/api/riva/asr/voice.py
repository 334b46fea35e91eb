"""Listens in on voice activity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.vad.voice_activity import WINDOW_SECONDS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pipelines.vad.voice_activity import VoiceActivity


class ObservedVoice:
    """Judges windows as another judge does, and remembers what was judged.

    Args:
        judge: what it does.
        remembers: whether the probabilities are kept for :meth:`take_probabilities`; otherwise only their number is.
    """

    def __init__(self, judge: VoiceActivity, *, remembers: bool = False) -> None:
        self._judge = judge
        self._remembers = remembers
        self._windows = 0
        self._untold: list[float] = []

    @property
    def heard_seconds(self) -> float:
        """Judged audio."""
        return self._windows * WINDOW_SECONDS

    @property
    def untold_windows(self) -> int:
        """Number of probabilities that :meth:`take_probabilities` would return."""
        return len(self._untold)

    def probabilities(self, windows: npt.NDArray[np.float32]) -> list[float]:
        """Return the speech probability of each window, float32 ``[windows, 512]``."""
        probabilities = self._judge.probabilities(windows)
        self._windows += len(windows)
        if self._remembers:
            self._untold += probabilities
        return probabilities

    def take_probabilities(self) -> list[float]:
        """Return the probabilities since the last call, one for each 32 ms."""
        taken, self._untold = self._untold, []
        return taken
