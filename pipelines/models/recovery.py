"""Bounded waiting for a lost model, before a request is repeated."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.errors import ModelError

MAX_REPEATS = 2
"""A request is repeated so often: one that itself ends the model's process must not do that for ever."""

RECOVERY_SECONDS = 30.0
"""Time that one piece of work waits for lost models, all its repeats together."""


class Recovery:
    """Repeats of one piece of work whose model was lost.

    Args:
        repeats: how many there may be.
    """

    def __init__(self, repeats: int = MAX_REPEATS) -> None:
        self._repeats_left = repeats
        self._seconds_left = RECOVERY_SECONDS

    def may_follow(self, error: ModelError) -> bool:
        """Return whether the work may be repeated after ``error``."""
        return error.recovery is not None and self._repeats_left > 0 and self._seconds_left > 0

    async def wait(self, error: ModelError) -> None:
        """Wait until the model that ``error`` tells of serves again.

        Raises:
            ModelError: ``error`` itself; the model does not come back in time.
        """
        assert error.recovery is not None
        self._repeats_left -= 1
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._seconds_left):
                await error.recovery()
        except TimeoutError:
            raise error from None
        finally:
            self._seconds_left -= loop.time() - began
