"""Admission: as many callers as can be answered in time, none before readiness."""

from __future__ import annotations

import collections
import contextlib
import math
import random
from typing import TYPE_CHECKING, Protocol

from service.admission.quotas import Quotas
from service.refusals import FairShareError, NotReadyError, TooManyConversationsError, TooMuchAudioError
from service.security.principal import current_principal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from service.refusals import ServiceError

_RETRY_SECONDS = 2.0
_FULL = 0.75
"""Share of the room from which on it is short."""

_CONVERSATION, _TYPED_TURN = "conversation", "typed turn"


class Room(Protocol):
    """Tells whether those who are inside leave time for one more."""

    def refusal(self, conversations: int, typed_turns: int, retry_seconds: float) -> ServiceError | None:
        """Return why there is no time for so many conversations and one more, or None."""


class Admission:
    """Admission of conversations; past the limit callers are refused at once.

    Args:
        limit: conversations at a time.
        room: looks at how much is said in them; None to count them only.
        quotas: what each principal has; None: a new count.

    Attributes:
        refused: how many were not let in because of the others.
    """

    def __init__(self, limit: int, room: Room | None = None, quotas: Quotas | None = None) -> None:
        self.refused = 0
        self.quotas = quotas or Quotas()
        self._limit = limit
        self._room = room
        self._taken: collections.Counter[str] = collections.Counter()
        self._closed_because: str | None = "the models are being loaded: try again soon"

    def open(self) -> None:
        """Let callers in."""
        self._closed_because = None

    def close(self, because: str) -> None:
        """Let nobody in any more; ``because`` is the sentence that callers are told."""
        self._closed_because = because

    def is_busy(self) -> bool:
        """Return whether a place is taken, by a conversation or a typed turn."""
        return self._taken.total() > 0

    def check(self) -> None:
        """Raise NotReadyError while nobody is let in."""
        if self._closed_because is not None:
            raise NotReadyError(self._closed_because, _RETRY_SECONDS)

    @contextlib.contextmanager
    def conversation(self) -> Iterator[None]:
        """Hold a place while the body runs.

        Raises:
            NotReadyError: nobody is let in now.
            TooManyConversationsError: every place is taken.
            TooManySpeakersError: so much is said already that one more would make replies late.
            LateRepliesError: replies are nearly late as it is.
            QuotaError: the principal has as much as he may have.
            FairShareError: room is short, and the principal holds more than his share of it.
        """
        self.check()
        self.quotas.check_audio()
        with self.quotas.conversation():
            self._check_share()
            with self._place(_CONVERSATION):
                yield

    @contextlib.asynccontextmanager
    async def typed_turn(self) -> AsyncIterator[None]:
        """Hold a place for one typed turn; these places are counted by themselves.

        A principal who may send so many a second waits for his turn. See :meth:`conversation` for what is raised.
        """
        self.check()
        await self.quotas.typed_turn()
        with self._place(_TYPED_TURN):
            yield

    def _check_share(self) -> None:
        """Reserve scarce room for principals below an equal share.

        The one who asks is counted already.
        """
        held, present = self.quotas.open_conversations(current_principal()), self.quotas.present
        total = self._taken[_CONVERSATION] + 1
        if present > 1 and held * present > total and self._is_nearly_full(total):
            self.refused += 1
            raise FairShareError(_retry_seconds())

    def _is_nearly_full(self, total: int) -> bool:
        """Return whether so many conversations and a third more would lack room."""
        third_more = math.ceil(total / _FULL)
        if third_more > self._limit:
            return True
        typed = self._taken[_TYPED_TURN]
        return self._room is not None and self._room.refusal(third_more, typed, _RETRY_SECONDS) is not None

    @contextlib.contextmanager
    def _place(self, kind: str) -> Iterator[None]:
        self._admit(kind)
        self._taken[kind] += 1
        try:
            yield
        finally:
            self._taken[kind] -= 1

    def _admit(self, kind: str) -> None:
        """Raise what is against one more of its kind."""
        self.check()
        error: ServiceError | None = None
        if self._taken[kind] >= self._limit:
            error = TooManyConversationsError(self._limit, _retry_seconds())
        elif self._room is not None:
            counts = self._taken + collections.Counter([kind])
            # The first of a kind is let in whatever was measured: hardly anybody is there whom he could make late.
            if self._taken[kind]:
                error = self._room.refusal(counts[_CONVERSATION], counts[_TYPED_TURN], _retry_seconds())
        if error is not None:
            self.refused += 1
            raise error


def _retry_seconds() -> float:
    """Return a random delay, so that refused callers do not come back together."""
    return round(random.uniform(0.5, 1.5) * _RETRY_SECONDS, 1)  # noqa: S311 - no secret


class RecordingMemory:
    """Bounds the memory that recordings take while they are recognized.

    Args:
        limit_bytes: how much they may have together.
        quotas: what each principal has; None where nobody has a limit of his own.
    """

    def __init__(self, limit_bytes: int = 512 << 20, quotas: Quotas | None = None) -> None:
        self._free = limit_bytes
        self._quotas = quotas or Quotas()

    @contextlib.contextmanager
    def reserve(self, size: int) -> Iterator[None]:
        """Hold ``size`` bytes while the body runs.

        Raises:
            TooMuchAudioError: there is not so much left.
            QuotaError: the principal has as much as he may have.
        """
        if size > self._free:
            raise TooMuchAudioError(_RETRY_SECONDS)
        self._free -= size
        try:
            with self._quotas.recording(size):
                yield
        finally:
            self._free += size
