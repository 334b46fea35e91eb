"""The deadlines of a conversation's replies, as timers of the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE_MARGIN_SECONDS = 0.01
"""A deadline passes so much earlier, so that the reply is at the caller in time."""


class TurnTimers:
    """At most one timer a turn.

    Args:
        on_deadline: called with the number of the turn whose deadline passes.
    """

    def __init__(self, on_deadline: Callable[[int], None]) -> None:
        self._on_deadline = on_deadline
        self._loop = asyncio.get_running_loop()
        self._timers: dict[int, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def set(self, turn: int, at: float) -> None:
        """Set or replace a turn's deadline, on the loop's clock."""
        self.cancel(turn)
        self._timers[turn] = self._loop.call_at(at - DEADLINE_MARGIN_SECONDS, self._pass, turn)

    def cancel(self, turn: int) -> None:
        """Cancel the deadline of a turn, which may have none."""
        timer = self._timers.pop(turn, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        """Cancel all deadlines."""
        for turn in tuple(self._timers):
            self.cancel(turn)

    def _pass(self, turn: int) -> None:
        del self._timers[turn]
        self._on_deadline(turn)
