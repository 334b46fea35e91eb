"""Who is let in: a bounded number of conversations, and nobody while the models are not ready."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from service.errors import NotReadyError, TooManyConversationsError, TooMuchAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

_RETRY_SECONDS = 2.0


class Admission:
    """Counts conversations. Past the limit a caller is refused at once: waiting would make all of them late.

    Args:
        limit: conversations at a time; no more than the recognizer has places for.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
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

    @contextlib.contextmanager
    def conversation(self) -> Iterator[None]:
        """Holds a place while the body runs.

        Raises:
            NotReadyError: nobody is let in now.
            TooManyConversationsError: every place is taken.
        """
        self.check()
        if self._taken >= self._limit:
            raise TooManyConversationsError(self._limit, _RETRY_SECONDS)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


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
