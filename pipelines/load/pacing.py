"""Lead of a stream over its share of audio, without a clock."""

from __future__ import annotations

from dataclasses import dataclass

LEAD_SECONDS = 3.0
"""Audio that a stream may be ahead of its share while the machine is short of time."""

_NOTHING_SECONDS = 1e-6
"""What remains of a sum after rounding, and is too short for a clock to tell."""


@dataclass(slots=True)
class Lead:
    """Token bucket of a stream's audio; the share is at least real time.

    A leaky bucket (Turner, "New directions in communications", IEEE Communications 24(10), 1986): audio fills it, time
    drains it. A stream at the pace of speech keeps it near zero however long it lasts, and one that was silent for an
    hour has not saved anything up.

    Attributes:
        seconds: how much it is.
    """

    seconds: float = 0.0
    _updated_at: float | None = None

    def add(self, audio_seconds: float) -> None:
        """Take in that audio came."""
        self.seconds += audio_seconds

    def wait_seconds(self, share: float) -> float:
        """Return the delay until the stream leads by ``LEAD_SECONDS`` at most."""
        ahead = self.seconds - LEAD_SECONDS
        return ahead / share if ahead > _NOTHING_SECONDS else 0.0

    def drain(self, share: float, now: float) -> None:
        """Advance to ``now``, in monotonic seconds, at the share until then."""
        if self._updated_at is not None:
            self.seconds = max(0.0, self.seconds - share * (now - self._updated_at))
        self._updated_at = now
