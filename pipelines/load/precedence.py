"""Priority gate: audio ingestion yields to pending replies."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

MAX_SECONDS = 0.005
"""For so long a reply may keep others waiting: several times what telling it takes to a caller who reads."""

_NOTHING_SECONDS = 1e-6
"""What remains of a wait after rounding, and is too short for a clock to tell."""


class Precedence:
    """While replies are on their way to their callers, what others send waits.

    A reply is the last of several responses, and each is written when the one before it has gone out. Meanwhile the
    event loop would take in what other callers send, half a millisecond of work each: with dozens of them talking, a
    reply that was ready in time would spend most of its latency behind audio that nobody waits for (priority queueing:
    Cobham, "Priority Assignment in Waiting Line Problems", Operations Research 2(1), 1954).

    A caller who does not read keeps nobody waiting for longer than :data:`MAX_SECONDS`.

    Attributes:
        tellers: until when those who have a reply to tell may keep others waiting.
    """

    def __init__(self) -> None:
        self.tellers: dict[Hashable, float] = {}
        self._nobody_tells = asyncio.Event()

    def begin(self, teller: Hashable) -> None:
        """Say that ``teller`` has a reply to tell."""
        self.tellers[teller] = asyncio.get_running_loop().time() + MAX_SECONDS
        self._nobody_tells.clear()

    def end(self, teller: Hashable) -> None:
        """Record that ``teller`` has no pending reply any more."""
        self.tellers.pop(teller, None)
        if not self.tellers:
            self._nobody_tells.set()

    async def wait(self) -> None:
        """Wait for pending replies, within a time limit."""
        left = max(self.tellers.values(), default=0.0) - asyncio.get_running_loop().time()
        if left > _NOTHING_SECONDS:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._nobody_tells.wait()
