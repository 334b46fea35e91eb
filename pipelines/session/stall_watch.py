"""Notices that no more audio comes of somebody who was speaking."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

STALL_SECONDS = 5.0


class StallWatch:
    """Tells when no audio has come for :data:`STALL_SECONDS`.

    Args:
        is_held_up: whether the caller is made to wait: such a one has not fallen silent.
        on_stall: called when audio has stopped coming.
    """

    def __init__(self, is_held_up: Callable[[], bool], on_stall: Callable[[], None]) -> None:
        self._is_held_up, self._on_stall = is_held_up, on_stall
        self._loop = asyncio.get_running_loop()
        self._last_audio = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def reset(self) -> None:
        """Say that audio came, or that the caller can go on only now."""
        self._last_audio = self._loop.time()

    def begin(self) -> None:
        """Watch, if it does not do so already."""
        if self._timer is None:
            self._timer = self._loop.call_at(self._last_audio + STALL_SECONDS, self._check)

    def cancel(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        self._timer = None
        if self._is_held_up():
            self.reset()
        if self._loop.time() >= self._last_audio + STALL_SECONDS:
            self._on_stall()
        else:
            self.begin()
