"""Lead of audio over real time, as of fast recordings."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.audio.formats import MODEL_RATE_HZ


@dataclass(frozen=True, slots=True)
class RealTime:
    """The moment at which a piece of audio came.

    Attributes:
        sample: its first sample, 16 kHz.
        at: when it came, in seconds.
    """

    sample: int = 0
    at: float = 0.0

    def ahead_seconds(self, sample: int, now: float) -> float:
        """Return the seconds until live audio reaches ``sample``; negative if past."""
        return (sample - self.sample) / MODEL_RATE_HZ - (now - self.at)
