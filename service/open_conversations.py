"""The conversations that are held, over whichever API, so that a shutdown can end them in order."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.messages import AwayReason
from pipelines.workload import Workload
from service.capacity import NEWCOMER, SpeechShare

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.conversation import Conversation

_DRAIN_POLL_SECONDS = 0.05
_ACTIVE = 0.1


class OpenConversations:
    """Knows every conversation that is held, and how much is said in it.

    Args:
        workload: what they all share.
    """

    def __init__(self, workload: Workload | None = None) -> None:
        self._workload = workload or Workload()
        self._open: set[Conversation] = set()
        self._streams: dict[int, _Stream] = {}
        self._numbers = itertools.count()

    @contextlib.asynccontextmanager
    async def holding(self, *conversations: Conversation) -> AsyncIterator[None]:
        """Knows the ``conversations`` of one stream while the body runs, and closes them after it."""
        number = next(self._numbers)
        for conversation in conversations:
            conversation.workload = self._workload
        self._open.update(conversations)
        self._streams[number] = _Stream(conversations)
        try:
            yield
        finally:
            del self._streams[number]
            self._open.difference_update(conversations)
            await asyncio.gather(*(conversation.close() for conversation in conversations))

    def observe(self, seconds: float) -> None:
        """Takes in how much was said in the last ``seconds``, since the call before."""
        for stream in self._streams.values():
            stream.observe(seconds)

    def active(self) -> int:
        """Returns in how many streams something is being said."""
        return sum(stream.share.expected > _ACTIVE for stream in self._streams.values())

    def speakers(self, places: int) -> float:
        """Returns how many people are expected to speak at a time.

        Args:
            places: places that are taken; those of them whose conversation is not held yet count as newcomers.
        """
        known = sum(stream.share.expected for stream in self._streams.values())
        return known + NEWCOMER * max(0, places - len(self._streams))

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


class _Stream:
    """The conversations of one stream, and how much is said in them together."""

    def __init__(self, conversations: tuple[Conversation, ...]) -> None:
        self.share = SpeechShare()
        self._conversations = conversations
        self._counted_samples = 0

    def observe(self, seconds: float) -> None:
        samples = sum(conversation.recognized_samples for conversation in self._conversations)
        self.share.observe((samples - self._counted_samples) / MODEL_RATE_HZ, seconds)
        self._counted_samples = samples
