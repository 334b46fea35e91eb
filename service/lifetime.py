"""How long a caller may be silent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipelines.messages import AwayReason

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a conversation may be silent.

    Attributes:
        idle_seconds: a conversation in which nothing was sent for so long is told that it ends.
        grace_seconds: time from then until it is ended.
        config_seconds: a stream whose config has not come by then is refused.
    """

    idle_seconds: float = 900.0
    grace_seconds: float = 5.0
    config_seconds: float = 10.0


class Endable(Protocol):
    """What is ended when nobody says anything any more."""

    def announce_end(self, reason: AwayReason, grace_seconds: float) -> None:
        """Tells the caller that the end comes."""

    def finish(self) -> None:
        """Says nothing more."""


class IdleWatch:
    """Ends a conversation in which nothing was sent for too long, as long as it is entered.

    Args:
        conversation: what is ended.
        limits: when.
    """

    def __init__(self, conversation: Endable, limits: Limits) -> None:
        self._conversation = conversation
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._touched = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._arm()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def touch(self) -> None:
        """Says that something was sent."""
        self._touched = self._loop.time()

    def _arm(self) -> None:
        # One timer a period, however many messages come: re-arming at each would cost more than they do.
        self._timer = self._loop.call_at(self._touched + self._limits.idle_seconds, self._check)

    def _check(self) -> None:
        if self._loop.time() < self._touched + self._limits.idle_seconds:
            self._arm()
            return
        self._conversation.announce_end(AwayReason.IDLE, self._limits.grace_seconds)
        self._timer = self._loop.call_later(self._limits.grace_seconds, self._conversation.finish)
