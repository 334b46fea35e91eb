"""Idle time-out and age limit of conversations."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipelines.data.messages import AwayReason

if TYPE_CHECKING:
    from typing import Self

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the silence and age of a conversation.

    Attributes:
        idle_seconds: a conversation in which nothing was sent for so long is told that it ends.
        grace_seconds: time from then until it is ended, unless something is sent: that calls the end off.
        config_seconds: a stream whose config has not come by then is refused.
        longest_seconds: a conversation that has lasted so long is told that it ends, whatever is sent: callers of one
            server never come to another one, or to a newer one, as long as their streams go on.
        turn_seconds: time from then for the turn under way; without one the conversation is ended at once.
    """

    idle_seconds: float = 900.0
    grace_seconds: float = 5.0
    config_seconds: float = 5.0
    longest_seconds: float = 86_400.0
    turn_seconds: float = 60.0


class Endable(Protocol):
    """Conversation with an idle time-out and an age limit."""

    @property
    def phase(self) -> str:
        """Activity; ``idle`` between two turns."""

    def announce_end(self, reason: AwayReason, grace_seconds: float) -> None:
        """Tell the caller that the end comes."""

    def finish(self) -> None:
        """Say nothing more."""


class LifetimeWatch:
    """Watch over the silence and age of a conversation, while entered.

    Args:
        conversation: what is ended.
        limits: when.
    """

    def __init__(self, conversation: Endable, limits: Limits) -> None:
        self._conversation = conversation
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._touched = self._loop.time()
        self._ends = False
        self._idle_timer: asyncio.TimerHandle | None = None
        self._age_timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._await_silence()
        self._age_timer = self._loop.call_later(self._limits.longest_seconds, self._grow_old)
        return self

    def __exit__(self, *_: object) -> None:
        for timer in (self._idle_timer, self._age_timer):
            if timer is not None:
                timer.cancel()

    def touch(self) -> None:
        """Record that something was sent, which calls off an idle end."""
        self._touched = self._loop.time()
        self._ends = False

    def _await_silence(self) -> None:
        # One timer a period, however many messages come: re-arming at each would cost more than they do.
        self._idle_timer = self._loop.call_at(self._touched + self._limits.idle_seconds, self._check_silence)

    def _check_silence(self) -> None:
        if self._loop.time() < self._touched + self._limits.idle_seconds:
            self._await_silence()
            return
        self._ends = True
        self._conversation.announce_end(AwayReason.IDLE, self._limits.grace_seconds)
        self._idle_timer = self._loop.call_later(self._limits.grace_seconds, self._end_silence)

    def _end_silence(self) -> None:
        if self._ends:
            self._conversation.finish()
        else:
            # Whoever speaks now gets an answer: an end with OK would seem to say that there is none.
            self._await_silence()

    def _grow_old(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._conversation.announce_end(AwayReason.AGE, self._limits.turn_seconds)
        self._end_between_turns(self._loop.time() + self._limits.turn_seconds)

    def _end_between_turns(self, until: float) -> None:
        if self._conversation.phase == "idle" or self._loop.time() >= until:
            self._conversation.finish()
        else:
            self._age_timer = self._loop.call_later(_POLL_SECONDS, self._end_between_turns, until)
