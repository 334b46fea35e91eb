"""Outgoing messages of a conversation, until its caller takes them."""

from __future__ import annotations

import asyncio
import collections
from typing import TYPE_CHECKING

from pipelines.data.messages import Notice, NoticeCode, Transcript
from pipelines.errors import ErrorKind, PipelineError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from pipelines.data.messages import Message

MAX_MESSAGES = 256


class SlowReaderError(PipelineError):
    """The caller does not take what it is told."""

    kind = ErrorKind.EXHAUSTED
    reason = "SLOW_READER"
    retry_seconds = 1.0


class Outbox:
    """Bounded queue of messages, in which newer partial transcripts replace older.

    Args:
        on_told: called whenever the reader has nothing more to write.
    """

    def __init__(self, on_told: Callable[[], None] = lambda: None) -> None:
        self._on_told = on_told
        self._messages: collections.deque[Message] = collections.deque()
        self._changed = asyncio.Event()
        self._emptied = asyncio.Event()
        self._emptied.set()
        self._finished = False
        self._error: Exception | None = None

    def put(self, message: Message) -> None:
        """Add a message; nothing is added after :meth:`finish` or :meth:`fail`."""
        if self._finished or self._error is not None:
            return
        if self._messages and _is_partial(self._messages[-1]) and isinstance(message, Transcript):
            self._messages.pop()
        if len(self._messages) >= MAX_MESSAGES:
            self.fail(SlowReaderError(f"{MAX_MESSAGES} responses were waiting to be read: read them as they come"))
            return
        self._messages.append(message)
        self._emptied.clear()
        self._changed.set()

    def tell_damage(self, sentences: Iterable[str]) -> None:
        """Tell what of the audio was left out."""
        for sentence in sentences:
            self.put(Notice(NoticeCode.AUDIO_DAMAGED, sentence))

    @property
    def is_waiting(self) -> bool:
        """True while a message is not written."""
        return not self._emptied.is_set()

    async def emptied(self) -> None:
        """Wait until every message is written; for ever without a reader."""
        await self._emptied.wait()

    def withdraw(self, is_obsolete: Callable[[Message], bool]) -> None:
        """Take back what is not written yet."""
        self._messages = collections.deque(message for message in self._messages if not is_obsolete(message))

    def finish(self) -> None:
        """Say that no message follows."""
        self._finished = True
        self._changed.set()

    def fail(self, error: Exception) -> None:
        """End the queue with ``error``, which the reader meets after the messages."""
        self._error = self._error or error
        self._changed.set()

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Yield the messages in order until :meth:`finish`.

        Raises:
            SlowReaderError: more than 256 messages were waiting.
            Exception: what :meth:`fail` was told.
        """
        while True:
            while self._messages:
                yield self._messages.popleft()
            self._emptied.set()
            self._on_told()
            if self._error is not None:
                raise self._error
            if self._finished:
                return
            self._changed.clear()
            await self._changed.wait()


def _is_partial(message: Message) -> bool:
    return isinstance(message, Transcript) and not message.is_final
