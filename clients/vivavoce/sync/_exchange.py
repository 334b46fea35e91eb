"""Queues between a caller's threads and the background loop.

The caller's threads put what is said into a bounded queue and take events out of another one; a task on the loop, the
*pump*, holds the asynchronous conversation in between.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from vivavoce.sync._background import SLICE_SECONDS, background

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from vivavoce._conversation import Conversation
    from vivavoce._events import Event
    from vivavoce._requests import Utterable
    from vivavoce.v1 import conversation_pb2 as pb

MAX_SAID = 64
"""Chunks that wait to be sent; then `say` waits. The asynchronous conversation keeps 256 messages besides."""

MAX_EVENTS = 4_096
"""Events that wait to be taken; then the connection is not read, and the server gives up after 20 s."""

CLOSE_SECONDS = 5.0
"""Longest wait for the end of a conversation that is closed."""


class Exchange:
    """The two queues of one conversation; thread-safe unless stated otherwise."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._said: deque[Utterable | Exception | None] = deque()
        self._events: deque[Event] = deque()
        self._error: BaseException | None = None
        self._all_said = False
        self._ended = False
        self._closing = False
        self._pump: asyncio.Task[None] | None = None
        self._conversation: Conversation | None = None
        self._more_said = asyncio.Event()
        self._events_taken = asyncio.Event()

    @property
    def ended(self) -> bool:
        """True once the conversation is over; events may still wait."""
        return self._ended

    def begin(self, conversation: Conversation) -> None:
        """Start the pump; called on the loop."""
        self._conversation = conversation
        self._pump = asyncio.get_running_loop().create_task(self._hold(conversation))
        self._pump.add_done_callback(self._over)

    def say(self, said: Utterable) -> None:
        """Say something, and wait while too much is not sent yet.

        Raises:
            RuntimeError: Everything was said, or the conversation has ended.
        """
        with self._changed:
            while len(self._said) >= MAX_SAID and not self._ended:
                self._changed.wait(SLICE_SECONDS)
            if self._all_said:
                raise RuntimeError("Everything was said: `finish` was called, or the chunks came to their end.")
            if self._ended:
                raise RuntimeError("The conversation has ended; iterate over it to learn why.") from self._error
            self._said.append(said)
        background.call_soon(self._more_said.set)

    def tell(self, request: pb.ConverseRequest) -> None:
        """Send a message beside speech, ahead of what waits to be said."""
        conversation = self._conversation
        if conversation is not None and not self._ended:
            background.call_soon(lambda: conversation.tell(request))

    def finish(self, error: Exception | None = None) -> None:
        """Announce the end, or raise `error` in the conversation in its place."""
        with self._changed:
            if self._all_said:
                return
            self._all_said = True
            self._said.append(error)
        background.call_soon(self._more_said.set)

    def take(self, timeout_seconds: float | None) -> Event | None:
        """Return the next event, or None when there is none in time, or none will follow.

        Args:
            timeout_seconds: How long to wait; None: until there is an event, or the end.

        Raises:
            BaseException: What the conversation failed with; once, after its last event.
        """
        until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        with self._changed:
            while not self._events and not self._ended:
                left = SLICE_SECONDS if until is None else min(SLICE_SECONDS, until - time.monotonic())
                if left <= 0:
                    return None
                self._changed.wait(left)
            if self._events:
                event = self._events.popleft()
                if len(self._events) == MAX_EVENTS - 1:
                    background.call_soon(self._events_taken.set)
                return event
            error, self._error = self._error, None
        if error is not None:
            raise error
        return None

    def close_soon(self) -> None:
        """End the conversation, without waiting; events that were not taken are dropped."""
        self._closing = True
        background.call_soon(self._cancel)

    def close(self) -> None:
        """End the conversation and wait for that, for `CLOSE_SECONDS` at most."""
        self.close_soon()
        until = time.monotonic() + CLOSE_SECONDS
        with self._changed:
            while not self._ended and (left := until - time.monotonic()) > 0:
                self._changed.wait(min(left, SLICE_SECONDS))
            self._ended = True
            self._events.clear()
            self._error = None
            self._changed.notify_all()

    def feed(self, chunks: Iterable[Utterable]) -> None:
        """Send everything in `chunks`, on a thread of its own: an iterable may block.

        An error that it raises is raised in the conversation.
        """
        iterator = iter(chunks)
        try:
            for chunk in iterator:
                self.say(chunk)
        except Exception as error:  # noqa: BLE001 - the conversation raises it
            self.finish(error)
        except BaseException as error:  # noqa: BLE001 - on the loop it would end the loop
            told = RuntimeError(f"The chunks of a conversation ended with {error!r}.")
            told.__cause__ = error
            self.finish(told)
        else:
            self.finish()
        finally:
            close = getattr(iterator, "close", None)
            if callable(close):
                close()

    async def said(self) -> AsyncIterator[Utterable]:
        """Yield what is said; runs on the loop."""
        while True:
            self._more_said.clear()
            while self._said:
                with self._changed:
                    said = self._said.popleft()
                    self._changed.notify_all()
                if said is None:
                    return
                if isinstance(said, Exception):
                    raise said
                yield said
            await self._more_said.wait()

    async def _hold(self, conversation: Conversation) -> None:
        try:
            async for event in conversation:
                self._events_taken.clear()
                with self._changed:
                    self._events.append(event)
                    full = len(self._events) >= MAX_EVENTS
                    self._changed.notify_all()
                if full:
                    await self._events_taken.wait()
        finally:
            await conversation.aclose()

    def _cancel(self) -> None:
        if self._pump is not None:
            self._pump.cancel()

    def _over(self, pump: asyncio.Task[None]) -> None:
        error = None if pump.cancelled() else pump.exception()
        with self._changed:
            self._error = None if self._closing else error
            self._ended = True
            self._changed.notify_all()
