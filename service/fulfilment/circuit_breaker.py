"""Circuit breaker: a server that fails again and again is left alone for a while."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_FAILURES = 5
"""Failures in a row after which a server is left alone."""
OPEN_SECONDS = 30.0
"""How long; then one request tries it, and further ones wait for its success."""


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    open_until: float = 0.0


class CircuitBreaker:
    """Counts failures of servers, each by its origin.

    Args:
        clock: time in seconds, which never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._circuits: dict[str, _Circuit] = {}

    def admits(self, origin: str) -> bool:
        """Return whether a server may be asked; after a pause, by one trial request."""
        circuit = self._circuits.get(origin)
        if circuit is None or circuit.failures < MAX_FAILURES:
            return True
        now = self._clock()
        if now < circuit.open_until:
            return False
        circuit.open_until = now + OPEN_SECONDS
        return True

    def succeeded(self, origin: str) -> None:
        """Note that a server has answered."""
        self._circuits.pop(origin, None)

    def failed(self, origin: str) -> None:
        """Record that a server was unreachable, too slow, or failing."""
        circuit = self._circuits.setdefault(origin, _Circuit())
        circuit.failures += 1
        circuit.open_until = self._clock() + OPEN_SECONDS
