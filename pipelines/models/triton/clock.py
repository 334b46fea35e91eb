"""How far Triton's clock is from this machine's, told from its statistics."""

from __future__ import annotations

_TOLD_SECONDS = 0.001
"""Triton tells its time in whole milliseconds."""


class TritonClock:
    """Corrects deadlines, which the models compare with the clock of Triton's machine.

    Attributes:
        ahead_seconds: how far Triton's clock is ahead of this machine's; 0 as long as nothing else is known.
    """

    def __init__(self) -> None:
        self.ahead_seconds = 0.0

    def compare(self, sent: float, told: float, received: float) -> None:
        """Takes in what Triton's clock said at some time between two readings of our own, all since 1970.

        As long as what was known is possible, it stays: on a busy machine there is much time between.
        """
        least, most = told - received, told + _TOLD_SECONDS - sent
        if not least <= self.ahead_seconds <= most:
            self.ahead_seconds = (least + most) / 2

    def deadline_us(self, until: float) -> int:
        """Returns a deadline of our own clock in microseconds of Triton's."""
        return round((until + self.ahead_seconds) * 1e6)
