"""End of calls whose credentials were withdrawn."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from service.security.authentication import UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from service.security.principal import Principal

CHECK_SECONDS = 2.0
"""How often a call that lasts is looked at."""


@contextlib.asynccontextmanager
async def ended_when_withdrawn(principal: Principal) -> AsyncIterator[None]:
    """End the body when the proof of ``principal`` no longer holds.

    Raises:
        UnauthenticatedError: it was ended so.
    """
    holds = principal.holds
    if holds is None:
        yield
        return
    loop = asyncio.get_running_loop()
    deadline = asyncio.timeout(None)
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        if holds():
            timer = loop.call_later(CHECK_SECONDS, look)
        elif not deadline.expired():
            deadline.reschedule(loop.time())

    timer = loop.call_later(CHECK_SECONDS, look)
    try:
        async with deadline:
            yield
    except TimeoutError:
        if not deadline.expired():
            raise
        message = "the token was withdrawn, or has expired: ask the operator of this server for a new one"
        raise UnauthenticatedError(message) from None
    finally:
        timer.cancel()
