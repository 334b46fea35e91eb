"""Deadlines of Triton's requests.

Clients tell a duration and the time of sending by a clock of their own, which may be any steady one: the parameters
``useful_us`` and ``sent_us`` in microseconds, and ``sender``, a name for the clock. How long a request has waited
before it is looked at follows from those that have waited least: their difference from this machine's clock is that of
the clocks. No wall clock is asked, so that none needs to be right, and all of them may be set.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW_SECONDS = 20.0
"""The least difference of this and the window before it counts: clocks may drift apart."""

MAX_WAIT_SECONDS = 35.0
"""No client waits longer for an answer: if a request seems to have waited longer, a clock has jumped."""

MAX_SENDERS = 64


class SenderClock:
    """Clock offset of a sender, learned from its requests.

    Args:
        now: this machine's clock at the first one.
        difference: by how much that is ahead of the sender's clock at its sending.
    """

    def __init__(self, now: float, difference: float) -> None:
        self._before = self._least = difference
        self._since = self._asked = now

    def waited_seconds(self, now: float, difference: float) -> float:
        """Return a request's waiting time, relative to the sender's fastest."""
        has_jumped = difference - min(self._before, self._least) > MAX_WAIT_SECONDS
        # Where nothing came for so long nothing waits, and the clocks may have drifted apart.
        if has_jumped or now - self._asked > WINDOW_SECONDS:
            self._before = self._least = difference
            self._since = now
        elif now - self._since > WINDOW_SECONDS:
            self._before, self._least, self._since = self._least, difference, now
        self._least = min(self._least, difference)
        self._asked = now
        return difference - min(self._before, self._least)


class Deadlines:
    """Deadlines of requests on this process's own clock.

    Args:
        clock: seconds that pass steadily.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._senders: OrderedDict[str, SenderClock] = OrderedDict()

    def seconds_left(self, request: Any) -> float | None:  # noqa: ANN401 - Triton's own type
        """Return the seconds left; negative when late, None without a deadline.

        To be asked once a request, when it is taken. Parameters of another kind, as another client of Triton may send
        them, count for none.
        """
        parameters = json.loads(request.parameters() or "{}")
        if not isinstance(parameters, dict):
            return None
        useful, sent = _seconds(parameters.get("useful_us")), _seconds(parameters.get("sent_us"))
        if useful is None:
            return None
        return useful if sent is None else useful - self._waited_seconds(str(parameters.get("sender", "")), sent)

    def due(self, request: Any) -> float | None:  # noqa: ANN401 - Triton's own type
        """Return the deadline on this clock; see :meth:`seconds_left`."""
        left = self.seconds_left(request)
        return None if left is None else self._clock() + left

    def _waited_seconds(self, sender: str, sent: float) -> float:
        now = self._clock()
        known = self._senders.get(sender)
        if known is None:
            known = self._senders[sender] = SenderClock(now, now - sent)
        self._senders.move_to_end(sender)
        if len(self._senders) > MAX_SENDERS:
            self._senders.popitem(last=False)
        return known.waited_seconds(now, now - sent)


def _seconds(value: object) -> float | None:
    """Read microseconds; None where there are none."""
    return value / 1e6 if isinstance(value, int | float) and not isinstance(value, bool) else None
