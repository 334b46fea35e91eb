"""Memory that callers make the service hold, in shares."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from service.refusals import TooMuchMemoryError

if TYPE_CHECKING:
    from collections.abc import Hashable

FREE_BYTES = 16 << 10
"""Of each thing that is held, which are not counted: small ones are never refused for the sake of large ones."""


class MemoryShares:
    """Bounds what is held for all callers, and to half of it what is held for one.

    Args:
        limit: bytes of everything.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: dict[Hashable, tuple[str, int]] = {}
        self._total = 0
        self._of_callers: collections.Counter[str] = collections.Counter()

    def hold(self, key: Hashable, caller: str, size: int) -> None:
        """Say how much is held of a thing.

        Args:
            key: tells it apart.
            caller: for whom it is held.
            size: bytes.

        Raises:
            TooMuchMemoryError: there is not so much left; what was held before still is.
        """
        counted = max(0, size - FREE_BYTES)
        more = counted - self._held.get(key, (caller, 0))[1]
        if more > 0 and (self._total + more > self._limit or self._of_callers[caller] + more > self._limit // 2):
            raise TooMuchMemoryError
        if not counted:
            self.release(key)
            return
        self._held[key] = (caller, counted)
        self._total += more
        self._of_callers[caller] += more

    def release(self, key: Hashable) -> None:
        """Say that nothing of a thing is held any more."""
        caller, counted = self._held.pop(key, ("", 0))
        self._total -= counted
        if counted:
            self._of_callers[caller] -= counted
            if not self._of_callers[caller]:
                del self._of_callers[caller]


PENDING = MemoryShares(64 << 20)
"""For bodies and messages that are not whole yet, by the address that they come from."""
CONVERSATION_ITEMS = MemoryShares(64 << 20)
"""For the items of sessions, by principal."""
