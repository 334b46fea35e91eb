"""Bounds how many calls wait for their first message, and so the memory that callers take before admission.

gRPC holds at most one flow-control window (64 KiB) of a message that nobody has asked for, and all of one that somebody
has. A call is therefore asked for its first message only when it has a place here, whatever its method.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from service.refusals import TooManyWaitingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

MAX_CALLS = 64
"""Calls that may wait at a time: half-sent messages of 8 MiB take 512 MiB."""
MAX_CALLS_OF_CONNECTION = 16
"""Likewise, of one connection."""

_MAX_QUEUE = 1024
_PROTECTED_SECONDS = 0.15
_RETRY_SECONDS = 1.0

_T = TypeVar("_T")


class FirstMessages:
    """Asks calls for their first message, a bounded number at a time.

    A newcomer never waits for a silent caller: where all places are taken, the call that has waited longest is refused,
    if its message has had 0.15 s to arrive. A connection has a share, so that one with many silent
    calls costs others nothing.

    Args:
        limit: calls at a time.
        share: calls at a time of one connection.
        protected_seconds: time in which a call is not refused for the sake of another one.
    """

    def __init__(
        self,
        limit: int = MAX_CALLS,
        share: int = MAX_CALLS_OF_CONNECTION,
        protected_seconds: float = _PROTECTED_SECONDS,
    ) -> None:
        self._share = share
        self._protected_seconds = protected_seconds
        self._places = _Places(limit, protected_seconds)
        self._of_connections: dict[str, _Places] = {}
        self._calls = 0

    async def read(self, read: Callable[[], Awaitable[_T]], peer: str, seconds: float) -> _T:
        """Returns the first message of a call.

        Args:
            read: asks gRPC for it.
            peer: the call's connection, as gRPC names it.
            seconds: how long the message may take.

        Raises:
            TimeoutError: none came in time.
            TooManyWaitingError: too many calls wait, and this one has waited longest or came last.
        """
        if self._calls >= _MAX_QUEUE:
            raise TooManyWaitingError(_RETRY_SECONDS)
        deadline = asyncio.timeout(seconds)
        call = _Call(deadline)
        try:
            async with deadline:
                with self._counted(), self._connection(peer) as places:
                    async with places.taken(call), self._places.taken(call):
                        return await read()
        except TimeoutError:
            if call.sent_away:
                raise TooManyWaitingError(_RETRY_SECONDS) from None
            raise

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    @contextlib.contextmanager
    def _connection(self, peer: str) -> Iterator[_Places]:
        """Yields the places of a connection. Those over a Unix socket cannot be told apart, and have no shares."""
        if peer.startswith("unix:"):
            yield _Places(math.inf, self._protected_seconds)
            return
        places = self._of_connections.setdefault(peer, _Places(self._share, self._protected_seconds))
        places.users += 1
        try:
            yield places
        finally:
            places.users -= 1
            if not places.users:
                del self._of_connections[peer]


@dataclass(eq=False, slots=True)
class _Call:
    """A call that waits for its first message."""

    deadline: asyncio.Timeout
    sent_away: bool = False

    def send_away(self) -> None:
        """Ends the wait."""
        if not self.sent_away and not self.deadline.expired():
            self.sent_away = True
            self.deadline.reschedule(asyncio.get_running_loop().time())


@dataclass(eq=False, slots=True)
class _Places:
    """Places for calls, in the order in which they came.

    Attributes:
        users: calls that hold on to these places, whether they have one or not.
    """

    limit: float
    protected_seconds: float
    users: int = 0
    _taken: dict[_Call, float] = field(default_factory=dict)
    _queue: collections.deque[asyncio.Event] = field(default_factory=collections.deque)

    @contextlib.asynccontextmanager
    async def taken(self, call: _Call) -> AsyncIterator[None]:
        """Holds a place while the body runs; waits for one where all are taken."""
        loop = asyncio.get_running_loop()
        while len(self._taken) >= self.limit:
            longest, since = next(iter(self._taken.items()))
            spared_seconds = since + self.protected_seconds - loop.time()
            if spared_seconds > 0:
                await self._wait(spared_seconds)
            else:
                self._leave(longest)
                longest.send_away()
        self._taken[call] = loop.time()
        try:
            yield
        finally:
            self._leave(call)

    async def _wait(self, seconds: float) -> None:
        """Waits until a place may be free, at most so long."""
        freed = asyncio.Event()
        self._queue.append(freed)
        try:
            async with asyncio.timeout(seconds):
                await freed.wait()
        except TimeoutError:
            pass
        finally:
            if freed in self._queue:
                self._queue.remove(freed)

    def _leave(self, call: _Call) -> None:
        if self._taken.pop(call, None) is not None and self._queue:
            self._queue.popleft().set()
