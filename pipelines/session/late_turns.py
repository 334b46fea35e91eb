"""Dialog turns that are late: a request for patience."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.data.messages import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.data.messages import Reply

WAIT_SECONDS = 1.5
"""Time after the end of a turn from which on the agent asks to wait for it."""


class LateTurns:
    """The turns of a dialog that are late.

    Args:
        on_wait: called when the agent may ask to wait for a turn that has not happened yet.
    """

    def __init__(self, on_wait: Callable[[], None]) -> None:
        self._on_wait = on_wait
        self._loop = asyncio.get_running_loop()
        self._awaited: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None

    def note(self, reply: Reply) -> None:
        """Take note of what the caller is told of a turn."""
        if reply.status is not Status.PARTIAL:
            self._awaited.discard(reply.turn)
            if not self._awaited:
                self.cancel()
        elif reply.dialog is None:
            self._awaited.add(reply.turn)
            if self._timer is None:
                self._timer = self._loop.call_at(reply.ended_at_seconds + WAIT_SECONDS, self._on_wait)

    def cancel(self) -> None:
        """Let the agent ask for no more time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
