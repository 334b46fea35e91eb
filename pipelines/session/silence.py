"""Timer of the caller's silence, while nothing else is awaited."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.turns.state import State

LOOK_SECONDS = 0.5
"""So often it is looked whether somebody speaks."""


class SilenceTimer:
    """Tells that a caller has said nothing for some time, once after each restart.

    Args:
        state: returns the state of the conversation's machine.
        on_silence: called when the time has passed.
    """

    def __init__(self, state: Callable[[], State], on_silence: Callable[[], None]) -> None:
        self._state, self._on_silence = state, on_silence
        self._loop = asyncio.get_running_loop()
        self._seconds = 0.0
        self._quiet_from = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def restart(self, seconds: float | None) -> None:
        """Wait for so many seconds of silence; None: for none."""
        self.cancel()
        if seconds is not None:
            self._seconds, self._quiet_from = seconds, self._loop.time()
            self._timer = self._loop.call_later(min(LOOK_SECONDS, seconds), self._look)

    def cancel(self) -> None:
        """Wait no longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Look whether all is quiet; the time begins anew where it is not."""
        state, now = self._state(), self._loop.time()
        if state.half_closed or state.finished:
            self._timer = None
            return
        voicing = state.voicing[-1].at(now) if len(state.voicing) == 1 else None
        is_played = not state.voicing or (voicing is not None and voicing.is_over)
        if state.speaking is not None or state.ending or state.fulfilling or not is_played:
            self._quiet_from = now
        if now - self._quiet_from >= self._seconds:
            self._timer = None
            self._on_silence()
            return
        wait = min(LOOK_SECONDS, self._quiet_from + self._seconds - now)
        self._timer = self._loop.call_later(wait, self._look)
