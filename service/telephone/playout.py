"""Playout of spoken replies at the pace of a telephone line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from service.sessions.reply_queue import LEAD_SECONDS, ReplyQueue

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Playout(ReplyQueue):
    """Sends frames of 20 ms at the pace at which they are heard.

    Args:
        bytes_per_second: of the audio.
        send: sends a frame to the switch.
        on_played: see `ReplyQueue`.
    """

    def __init__(
        self,
        bytes_per_second: int,
        send: Callable[[bytes], Awaitable[None]],
        on_played: Callable[[int, float, bool], None],
    ) -> None:
        super().__init__(bytes_per_second)
        self._send = send
        self.on_played = on_played

    async def run(self) -> None:
        """Send what is queued, until it is cancelled."""
        loop = asyncio.get_running_loop()
        due = 0.0
        while True:
            await self.speech()
            # After a silence the line begins anew.
            due = max(due, loop.time() - LEAD_SECONDS)
            await asyncio.sleep(due - loop.time())
            if frame := self.take():
                due += len(frame) / self.bytes_per_second
                await self._send(frame)
