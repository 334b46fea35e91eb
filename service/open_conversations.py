"""The conversations that are held, over whichever API, so that a shutdown can end them in order."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from pipelines.messages import AwayReason

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.conversation import Conversation

_DRAIN_POLL_SECONDS = 0.05


class OpenConversations:
    """Knows every conversation that is held."""

    def __init__(self) -> None:
        self._open: set[Conversation] = set()

    @contextlib.asynccontextmanager
    async def holding(self, *conversations: Conversation) -> AsyncIterator[None]:
        """Knows ``conversations`` while the body runs, and closes them after it."""
        self._open.update(conversations)
        try:
            yield
        finally:
            self._open.difference_update(conversations)
            await asyncio.gather(*(conversation.close() for conversation in conversations))

    async def drain(self, grace_seconds: float) -> None:
        """Announces the shutdown to every conversation, and ends each as soon as it has no turn under way."""
        loop = asyncio.get_running_loop()
        until = loop.time() + grace_seconds
        for conversation in self._open:
            conversation.announce_end(AwayReason.SHUTDOWN, grace_seconds)
        while self._open and loop.time() < until:
            for conversation in tuple(self._open):
                if conversation.phase == "idle":
                    conversation.finish()
            await asyncio.sleep(_DRAIN_POLL_SECONDS)
