"""Outages: errors after which to reconnect, for how long, and the back-off."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from vivavoce._errors import Overloaded, ServerError, ServerFailed, ServerUnavailable, VivavoceError

if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 2.0
_JITTER = 0.25

# A server that lets callers in and dies at once, perhaps of what they say, has not come back.
_STEADY_SECONDS = 2.0


class Outage:
    """Reconnection attempts of one outage; times in seconds of one clock."""

    def __init__(self, longest_seconds: float, chance: Callable[[], float] = random.random) -> None:
        """Begin without an outage.

        Args:
            longest_seconds: After so long there is no further try.
            chance: Draws a number, 0 to 1, for the length of a pause.
        """
        self._longest_seconds = longest_seconds
        self._chance = chance
        self._began: float | None = None
        self._over: float | None = None
        self._tries = 0

    def lost(self, moment: float) -> None:
        """Record a lost connection; soon after an outage, that one goes on."""
        if self._began is None or (self._over is not None and moment - self._over >= _STEADY_SECONDS):
            self._began, self._tries = moment, 0
        self._over = None

    def over(self, moment: float) -> None:
        """Note that the server has let the caller in again."""
        self._over = moment

    def forget(self) -> None:
        """Note that the server has answered: another loss will be another outage."""
        self._began = None

    def left_seconds(self, moment: float) -> float:
        """Return how much time is left for further tries."""
        return 0.0 if self._began is None else self._began + self._longest_seconds - moment

    def pause_seconds(self, moment: float, asked_seconds: float | None) -> float | None:
        """Return the delay before the next attempt; None when time is up.

        Args:
            moment: Now.
            asked_seconds: How long the server asked to wait; None if it did not.
        """
        pause = 0.0
        if self._tries:
            pause = min(_FIRST_PAUSE_SECONDS * 2 ** (self._tries - 1), _LONGEST_PAUSE_SECONDS)
            pause *= 1 - _JITTER + 2 * _JITTER * self._chance()
        self._tries += 1
        pause = max(pause, asked_seconds or 0.0)
        return pause if pause < self.left_seconds(moment) else None


def has_gone(error: VivavoceError) -> bool:
    """Return whether an error passes: server unreachable, or call given up for now."""
    return isinstance(error, ServerUnavailable) or (isinstance(error, ServerFailed) and error.retryable)


def retry_after_seconds(error: VivavoceError) -> float | None:
    """Return how long the server asked to wait; None if it did not."""
    return error.retry_after_seconds if isinstance(error, ServerUnavailable | Overloaded) else None


def unavailable(error: VivavoceError) -> ServerUnavailable:
    """Return `error` as what it comes to when there is no time for another try."""
    if isinstance(error, ServerUnavailable):
        return error
    told = ServerUnavailable(
        f"The connection was lost and could not be made anew: {error}",
        reason=error.reason if isinstance(error, ServerError) else "",
        retry_after_seconds=retry_after_seconds(error),
    )
    told.__cause__ = error
    return told
