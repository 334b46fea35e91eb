"""Queue of requests for the workers.

One queue for all workers keeps none idle while somebody waits for another (M/G/c in place of c times M/G/1: Kleinrock,
"Queueing Systems", vol. 1, 1975). Requests of one sequence are answered in order, by one worker at a time.

When many ask at once, those whose text would come too late wait behind those who can still be helped: in the order of
their arrival all of them would be late, and one short rush would be felt long after it (customers who leave the queue
when their patience is at its end: Barrer, "Queuing with Impatient Customers and Ordered Service", Operations Research
5(5), 1957; here they stay, and go last).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from engines.asr.errors import AsrError
    from engines.asr.serving.requests import AsrRequest, AsrResult

MAX_TEXTS = 4
"""Texts that one worker works out at a time. More take less time a text by a few hundredths, and all wait for all."""

NEEDED_SECONDS = 0.2
"""What a text takes on a busy machine, with what is made of it: with less than that left it is late already."""

MAX_LATE_SECONDS = 3.0
"""So long after its deadline a text goes behind others; then nobody who comes later passes it: each has its turn."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request, and who is told the answer.

    Attributes:
        request: What is asked.
        answer: Takes the answer, an error that concerns this request, or what the engine broke of. Called once, from a
            worker's thread.
    """

    request: AsrRequest
    answer: Callable[[AsrResult | AsrError | Exception], None]


class RequestQueue:
    """Requests by arrival, late ones last. Not thread-safe.

    Args:
        workers: How many share the work.
        most: Requests that one worker takes at a time.
        clock: Seconds that pass steadily; deadlines are on it.
    """

    def __init__(self, workers: int, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._workers = workers
        self._most = most
        self._clock = clock
        self._waiting: list[Ticket] = []
        self._in_work: set[int] = set()

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    @property
    def is_ready(self) -> bool:
        """True if a waiting request may be taken now."""
        return any(ticket.request.sequence_id not in self._in_work for ticket in self._waiting)

    def put(self, tickets: Iterable[Ticket]) -> None:
        """Add requests behind the others."""
        self._waiting.extend(tickets)

    def take(self) -> list[Ticket]:
        """Return what a worker does next, which it hands to :meth:`done` afterwards.

        That is all that waits, since to take in audio costs little, but of the texts that are asked for only this
        worker's share, ``MAX_TEXTS`` at most: the others shall find something to do when they are free. A sequence
        that another worker is busy with waits for it. Texts that come too late are left for last.
        """
        free = [ticket for ticket in self._waiting if ticket.request.sequence_id not in self._in_work]
        share = min(-(-sum(ticket.request.is_asked for ticket in free) // self._workers), MAX_TEXTS)
        now = self._clock()
        late = {ticket.request.sequence_id for ticket in self._waiting if _is_late(ticket.request, now)}
        self._waiting.sort(key=lambda ticket: ticket.request.sequence_id in late)
        taken: list[Ticket] = []
        left: list[Ticket] = []
        held = set(self._in_work)
        for ticket in self._waiting:
            sequence_id, asked = ticket.request.sequence_id, ticket.request.is_asked
            if sequence_id in held or len(taken) == self._most or (asked and not share):
                held.add(sequence_id)
                left.append(ticket)
            else:
                share -= asked
                taken.append(ticket)
        self._waiting = left
        self._in_work.update(ticket.request.sequence_id for ticket in taken)
        return taken

    def done(self, tickets: Sequence[Ticket]) -> None:
        """Free the sequences of what was taken together."""
        self._in_work.difference_update(ticket.request.sequence_id for ticket in tickets)


def _is_late(request: AsrRequest, now: float) -> bool:
    """Return whether a text will just miss its deadline."""
    deadline = request.deadline_seconds
    return request.is_asked and deadline is not None and deadline - NEEDED_SECONDS < now < deadline + MAX_LATE_SECONDS
