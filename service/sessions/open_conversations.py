"""Open conversations of all APIs, for an orderly shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.messages import AwayReason
from pipelines.load.workload import Workload
from service.admission.capacity import NEWCOMER, SpeechShare
from service.refusals import SHUTTING_DOWN, NotReadyError
from service.telemetry.log_context import about

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pipelines.session.conversation import Conversation

logger = logging.getLogger(__name__)

_DRAIN_POLL_SECONDS = 0.05
_ACTIVE = 0.1


class OpenConversations:
    """Knows every conversation that is held, and how much is said in it.

    Attributes:
        workload: what they all share.
    """

    def __init__(self, workload: Workload | None = None) -> None:
        self.workload = workload or Workload()
        self._streams: dict[int, _Stream] = {}
        self._numbers = itertools.count()

    @contextlib.asynccontextmanager
    async def holding(self, *conversations: Conversation, whole: bool = False) -> AsyncIterator[None]:
        """Register a stream's ``conversations`` while the body runs, then close them.

        Args:
            conversations: one a channel.
            whole: whether the caller can do nothing with a part of what is said, as with a part of a recording.
        """
        number = next(self._numbers)
        self._streams[number] = _Stream(conversations, whole=whole)
        try:
            with about(conversations[0].name if conversations else ""):
                yield
        finally:
            del self._streams[number]
            for conversation in conversations:
                conversation.abandon()
            await asyncio.gather(*(conversation.close() for conversation in conversations))

    @property
    def count(self) -> int:
        """Streams whose conversations are held."""
        return len(self._streams)

    def observe(self, seconds: float) -> None:
        """Take in how much was said in the last ``seconds``, since the call before."""
        for stream in self._streams.values():
            stream.observe(seconds)

    def active(self) -> int:
        """Return in how many streams something is being said."""
        return sum(stream.share.expected > _ACTIVE for stream in self._streams.values())

    def speakers(self, places: int) -> float:
        """Return how many people are expected to speak at a time.

        Args:
            places: places that are taken; those of them whose conversation is not held yet count as newcomers.
        """
        known = sum(stream.share.expected for stream in self._streams.values())
        return known + NEWCOMER * max(0, places - len(self._streams))

    def utterances(self, places: int) -> float:
        """Return the expected number of simultaneous utterances.

        Args:
            places: see :meth:`speakers`.
        """
        known = sum(min(stream.share.expected, len(stream.conversations)) for stream in self._streams.values())
        return known + NEWCOMER * max(0, places - len(self._streams))

    async def drain(
        self,
        grace_seconds: float,
        is_busy: Callable[[], bool] = lambda: False,
        hasten: asyncio.Event | None = None,
    ) -> None:
        """Announce the shutdown; end each conversation once it has no turn under way.

        A stream has no turn under way when none of its channels has one. Streams that were let in before may become
        known only now. What is wanted whole goes on as long as it may. What is not finished after the grace is ended
        with a :class:`NotReadyError`.

        Args:
            grace_seconds: time for what is under way.
            is_busy: whether calls besides the streams, such as typed turns, are under way; they are waited for too.
            hasten: ends the grace when it is set; None: nothing does.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + grace_seconds
        told: set[Conversation] = set()
        if self._streams:
            logger.info("stopping: %d open streams have up to %g s", len(self._streams), grace_seconds)
        while (self._streams or is_busy()) and loop.time() < until and not (hasten and hasten.is_set()):
            for stream in self._streams.values():
                for conversation in stream.conversations:
                    if conversation not in told:
                        told.add(conversation)
                        conversation.announce_end(AwayReason.SHUTDOWN, until - loop.time())
                if stream.idle and not stream.whole:
                    for conversation in stream.conversations:
                        conversation.finish()
            await asyncio.sleep(_DRAIN_POLL_SECONDS)
        for stream in self._streams.values():
            if not stream.finished:
                for conversation in stream.conversations:
                    conversation.outbox.fail(NotReadyError(SHUTTING_DOWN))


class _Stream:
    """The conversations of one stream, and how much is said in them together."""

    def __init__(self, conversations: tuple[Conversation, ...], *, whole: bool) -> None:
        self.share = SpeechShare()
        self.conversations, self.whole = conversations, whole
        self._counted_samples = 0

    @property
    def idle(self) -> bool:
        """True if no channel has a turn under way."""
        return all(conversation.phase == "idle" for conversation in self.conversations)

    @property
    def finished(self) -> bool:
        """True if everything was said on all channels."""
        return all(conversation.phase == "finished" for conversation in self.conversations)

    def observe(self, seconds: float) -> None:
        samples = sum(conversation.recognized_samples for conversation in self.conversations)
        self.share.observe((samples - self._counted_samples) / MODEL_RATE_HZ, seconds)
        self._counted_samples = samples
