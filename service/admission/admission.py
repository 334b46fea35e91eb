"""Who is let in: as many as can be answered in time, and nobody while the models are not ready."""

from __future__ import annotations

import collections
import contextlib
import random
from typing import TYPE_CHECKING, Protocol

from service.refusals import NotReadyError, TooManyConversationsError, TooMuchAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from service.refusals import ServiceError

_RETRY_SECONDS = 2.0
_CONVERSATION, _TYPED_TURN = "conversation", "typed turn"


class Room(Protocol):
    """Tells whether those who are inside leave time for one more."""

    def refusal(self, conversations: int, typed_turns: int, retry_seconds: float) -> ServiceError | None:
        """Returns why there is no time for so many: those who are inside, and the one at the door. None: there is."""


class Admission:
    """Counts conversations. Past the limit a caller is refused at once: waiting would make all of them late.

    Args:
        limit: conversations at a time.
        room: looks at how much is said in them; None to count them only.

    Attributes:
        refused: how many were not let in because of the others.
    """

    def __init__(self, limit: int, room: Room | None = None) -> None:
        self.refused = 0
        self._limit = limit
        self._room = room
        self._taken: collections.Counter[str] = collections.Counter()
        self._closed_because: str | None = "the models are being loaded: try again soon"

    def open(self) -> None:
        """Lets callers in."""
        self._closed_because = None

    def close(self, because: str) -> None:
        """Lets nobody in any more; ``because`` is the sentence that callers are told."""
        self._closed_because = because

    def check(self) -> None:
        """Raises NotReadyError while nobody is let in."""
        if self._closed_because is not None:
            raise NotReadyError(self._closed_because, _RETRY_SECONDS)

    def conversation(self) -> AbstractContextManager[None]:
        """Holds a place while the body runs.

        Raises:
            NotReadyError: nobody is let in now.
            TooManyConversationsError: every place is taken.
            TooManySpeakersError: so much is said already that one more would make replies late.
            LateRepliesError: replies are nearly late as it is.
        """
        return self._place(_CONVERSATION)

    def typed_turn(self) -> AbstractContextManager[None]:
        """Holds a place for one typed turn; there are as many as for conversations, beside those.

        See :meth:`conversation` for what is raised.
        """
        return self._place(_TYPED_TURN)

    @contextlib.contextmanager
    def _place(self, kind: str) -> Iterator[None]:
        self._admit(kind)
        self._taken[kind] += 1
        try:
            yield
        finally:
            self._taken[kind] -= 1

    def _admit(self, kind: str) -> None:
        """Raises what is against one more of its kind."""
        self.check()
        error: ServiceError | None = None
        if self._taken[kind] >= self._limit:
            error = TooManyConversationsError(self._limit, _retry_seconds())
        elif self._room is not None:
            counts = self._taken + collections.Counter([kind])
            # The first is let in whatever was measured: nobody is there whom he could make late.
            if counts.total() > 1:
                error = self._room.refusal(counts[_CONVERSATION], counts[_TYPED_TURN], _retry_seconds())
        if error is not None:
            self.refused += 1
            raise error


def _retry_seconds() -> float:
    """Returns a delay that is not everybody's: those who were refused together must not come back together."""
    return round(random.uniform(0.5, 1.5) * _RETRY_SECONDS, 1)  # noqa: S311 - no secret


class RecordingMemory:
    """Bounds the memory that recordings take while they are recognized.

    Args:
        limit_bytes: how much they may have together.
    """

    def __init__(self, limit_bytes: int = 512 << 20) -> None:
        self._free = limit_bytes

    @contextlib.contextmanager
    def held(self, size: int) -> Iterator[None]:
        """Holds ``size`` bytes while the body runs.

        Raises:
            TooMuchAudioError: there is not so much left.
        """
        if size > self._free:
            raise TooMuchAudioError(_RETRY_SECONDS)
        self._free -= size
        try:
            yield
        finally:
            self._free += size
