"""Bound on calls waiting for their first message, before admission.

gRPC holds at most one flow-control window (64 KiB) of a message that nobody has asked for, and all of one that somebody
has. A call is therefore asked for its first message only when it has a place here, whatever its method.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from service.refusals import TooManyWaitingError
from service.security.principal import current_principal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

MAX_CALLS = 64
"""Calls that may wait at a time: half-sent messages of 8 MiB take 512 MiB."""
MAX_CALLS_OF_CONNECTION = 16
"""Likewise, of one connection."""
_CONNECTIONS_OF_PRINCIPAL = 2
"""A principal that is known has so many connections' shares, over however many connections it comes."""

_MAX_QUEUE = 1024
_PROTECTED_SECONDS = 0.15
_RETRY_SECONDS = 1.0

_T = TypeVar("_T")


class FirstMessages:
    """Asks calls for their first message, a bounded number at a time.

    A newcomer never waits for a silent caller: where all places are taken, the call that has waited longest is refused,
    if its message has had 0.15 s to arrive. A connection has a share, and so has a principal, so that one with many
    silent calls costs others nothing.

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
        self._of_callers: dict[str, _Places] = {}
        self._calls = 0

    async def read(self, read: Callable[[], Awaitable[_T]], peer: str, seconds: float) -> _T:
        """Return the first message of a call.

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
                with self._counted(), self._shares(peer) as shares:
                    async with contextlib.AsyncExitStack() as taken:
                        for places in (*shares, self._places):
                            await taken.enter_async_context(places.taken(call))
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
    def _shares(self, peer: str) -> Iterator[list[_Places]]:
        """Yield the places of the call's connection and principal.

        Connections over a Unix socket cannot be told apart, and callers who prove nothing are everybody: no shares.
        """
        principal = current_principal()
        limits: dict[str, int] = {}
        if not peer.startswith("unix:"):
            limits[f"connection {peer}"] = self._share
        if principal.kind != "anonymous":
            limits[f"principal {principal.key}"] = self._share * _CONNECTIONS_OF_PRINCIPAL
        shares = [
            self._of_callers.setdefault(caller, _Places(limit, self._protected_seconds))
            for caller, limit in limits.items()
        ]
        for places in shares:
            places.users += 1
        try:
            yield shares
        finally:
            for caller, places in zip(limits, shares, strict=True):
                places.users -= 1
                if not places.users:
                    del self._of_callers[caller]


@dataclass(eq=False, slots=True)
class _Call:
    """A call that waits for its first message."""

    deadline: asyncio.Timeout
    sent_away: bool = False

    def send_away(self) -> None:
        """End the wait."""
        if not self.sent_away and not self.deadline.expired():
            self.sent_away = True
            self.deadline.reschedule(asyncio.get_running_loop().time())


@dataclass(eq=False, slots=True)
class _Places:
    """Places for calls, in the order in which they came.

    Attributes:
        users: calls that hold on to these places, whether they have one or not.
    """

    limit: int
    protected_seconds: float
    users: int = 0
    _taken: dict[_Call, float] = field(default_factory=dict)
    _queue: collections.deque[asyncio.Event] = field(default_factory=collections.deque)

    @contextlib.asynccontextmanager
    async def taken(self, call: _Call) -> AsyncIterator[None]:
        """Hold a place while the body runs; wait for one where all are taken."""
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
        """Wait until a place may be free, at most so long."""
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
