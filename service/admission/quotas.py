"""Quotas of principals, and their use."""

from __future__ import annotations

import collections
import contextlib
import time
from typing import TYPE_CHECKING, Any

from asyncio_throttle.throttler import Throttler

from pipelines.errors import ErrorKind
from service.refusals import ServiceError
from service.security.principal import current_principal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping

    from service.security.principal import Principal

_MINUTE = 60.0
_MAX_WAITING_TURNS = 32
_RETRY_SECONDS = 2.0
_FORGET_AFTER = 4096


class QuotaError(ServiceError):
    """The principal has as much as he may have."""

    kind = ErrorKind.EXHAUSTED
    reason = "QUOTA_EXCEEDED"


class Quotas:
    """Counts what principals have.

    Args:
        clock: monotonic, in seconds.

    Attributes:
        refused: how many calls were refused because their principal had enough already.
        audio_seconds: audio that all principals together have sent.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused = 0
        self.audio_seconds = 0.0
        self._clock = clock
        self._conversations: collections.Counter[str] = collections.Counter()
        self._recordings: collections.Counter[str] = collections.Counter()
        self._waiting_turns: collections.Counter[str] = collections.Counter()
        self._audio: dict[str, _Allowance] = {}
        self._throttlers: dict[str, Throttler] = {}

    @property
    def present(self) -> int:
        """Principals that hold a conversation."""
        return len(self._conversations)

    def open_conversations(self, principal: Principal) -> int:
        """Return how many conversations a principal holds."""
        return self._conversations.get(principal.key, 0)

    @contextlib.contextmanager
    def conversation(self) -> Iterator[None]:
        """Count a conversation of the current principal while the body runs.

        Raises:
            QuotaError: the principal has as many as he may have.
        """
        principal = current_principal()
        most = principal.limits.conversations
        if most is not None and self.open_conversations(principal) >= most:
            raise self._refusal(f"all {most} conversations that you may hold are open: end one", _RETRY_SECONDS)
        with _counted(self._conversations, principal.key, 1):
            yield

    async def typed_turn(self) -> None:
        """Wait until the current principal may have another typed turn.

        Raises:
            QuotaError: so many of his wait already that this one would wait for long.
        """
        principal = current_principal()
        rate = principal.limits.typed_turns_per_second
        if rate is None:
            return
        waiting = self._waiting_turns.get(principal.key, 0)
        if waiting >= _MAX_WAITING_TURNS:
            wait = round(waiting / rate, 1)
            raise self._refusal(f"you may send {rate:g} texts a second, and {waiting} wait: send fewer", wait)
        throttler = self._throttlers.get(principal.key)
        if throttler is None:
            _bound(self._throttlers)
            # Less than one a second is one in a longer period.
            limit, period = (max(1, int(rate)), 1.0) if rate >= 1 else (1, 1 / rate)
            throttler = self._throttlers[principal.key] = Throttler(limit, period, retry_interval=min(0.02, period / 4))
        with _counted(self._waiting_turns, principal.key, 1):
            async with throttler:
                pass

    def charge_audio(self, seconds: float, principal: Principal | None = None) -> None:
        """Count audio of a principal, by default of the current one."""
        self.audio_seconds += seconds
        principal = principal or current_principal()
        rate = principal.limits.audio_seconds_per_minute
        if rate is None:
            return
        allowance = self._audio.get(principal.key)
        if allowance is None:
            _bound(self._audio)
            allowance = self._audio[principal.key] = _Allowance(rate, self._clock())
        allowance.take(seconds, rate, self._clock())

    def check_audio(self, principal: Principal | None = None) -> None:
        """Check that a principal, by default the current one, may send audio.

        Raises:
            QuotaError: he has sent more than he may within a minute.
        """
        principal = principal or current_principal()
        if principal.limits.audio_seconds_per_minute is None:
            return
        rate, allowance = principal.limits.audio_seconds_per_minute, self._audio.get(principal.key)
        if rate is None or allowance is None:
            return
        wait = allowance.take(0.0, rate, self._clock())
        if wait > 0:
            message = f"you may send {rate:g} s of audio a minute, and sent more"
            raise self._refusal(message, max(0.1, round(wait, 1)))

    @contextlib.contextmanager
    def recording(self, size: int) -> Iterator[None]:
        """Count a recording of the current principal while the body runs.

        Args:
            size: its bytes.

        Raises:
            QuotaError: it is more than he may have recognized at a time.
        """
        principal = current_principal()
        most = principal.limits.recording_bytes
        if most is not None and size > most:
            message = f"the recording has {size:,} bytes: you may send {most:,}"
            raise self._refusal(message, None)
        if most is not None and self._recordings[principal.key] + size > most:
            message = f"your recordings that are being recognized and this one have over {most:,} bytes"
            raise self._refusal(message, _RETRY_SECONDS)
        with _counted(self._recordings, principal.key, size):
            yield

    def _refusal(self, message: str, retry_seconds: float | None) -> QuotaError:
        self.refused += 1
        cure = "" if retry_seconds is None else f", or try again in {retry_seconds:g} s"
        return QuotaError(message + cure, retry_seconds)


class _Allowance:
    """A minute's worth that fills up again evenly (token bucket)."""

    def __init__(self, full: float, now: float) -> None:
        self._left, self._filled_at = full, now

    def take(self, amount: float, full: float, now: float) -> float:
        """Take an amount; return the seconds until there is some again, 0 for now."""
        self._left = min(full, self._left + (now - self._filled_at) * full / _MINUTE) - amount
        self._filled_at = now
        return max(0.0, -self._left) * _MINUTE / full


@contextlib.contextmanager
def _counted(counter: collections.Counter[str], key: str, amount: int) -> Iterator[None]:
    """Count while the body runs; who has nothing is not kept."""
    counter[key] += amount
    try:
        yield
    finally:
        counter[key] -= amount
        if not counter[key]:
            del counter[key]


def _bound(kept: MutableMapping[str, Any]) -> None:
    """Forget the oldest entries, so that subjects of JWTs cannot fill the memory."""
    while len(kept) >= _FORGET_AFTER:
        del kept[next(iter(kept))]
