"""Threads that answer requests for one engine.

The networks let go of the interpreter while they compute, so that each thread keeps a core busy.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Protocol

from engines.asr.serving.queueing import RequestQueue, Ticket
from engines.asr.serving.sequences import MAX_SEQUENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engines.asr.errors import AsrError
    from engines.asr.serving.requests import AsrRequest, AsrResult


logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.05
"""How long whoever hands requests over waits for a worker to be free."""

MAX_WAITING = MAX_SEQUENCES
"""Requests that wait for a worker before no more are taken: one of every sequence that can be open."""


class Engine(Protocol):
    """Protocol of an engine (:class:`engines.asr.serving.engine.AsrEngine`)."""

    def process(self, requests: Sequence[AsrRequest]) -> Iterator[tuple[int, AsrResult | AsrError]]:
        """Yield the index of each request and its answer; thread-safe."""


class Workers:
    """Answers requests as they come, with several threads.

    Args:
        engine: Answers batches; no two at a time hold requests of the same sequence.
        count: Threads.
        most: Requests that one of them takes at a time.
        after_work: Called by a thread whenever it has answered what it took.
    """

    def __init__(self, engine: Engine, count: int, most: int, after_work: Callable[[], None]) -> None:
        self._engine = engine
        self._after_work = after_work
        self._queue = RequestQueue(count, most)
        self._changed = threading.Condition()
        self._closing = False
        self._working = 0
        self._threads = [threading.Thread(target=self._run, name=f"asr-{i}", daemon=True) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, tickets: Sequence[Ticket]) -> None:
        """Hand requests over; wait for a free worker or room, within ``WAIT_SECONDS``.

        So the time that this takes tells how busy the workers are, and what comes meanwhile gathers outside: not for
        long, since whose turn it is cannot be told of requests that are not known here.
        """
        with self._changed:
            self._queue.put(tickets)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._working < len(self._threads), WAIT_SECONDS)
            self._changed.wait_for(lambda: len(self._queue) <= MAX_WAITING)

    def close(self) -> None:
        """Answer all that was submitted, and end the threads."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while tickets := self._take():
            try:
                self._answer(tickets)
                self._after_work()
            except Exception:
                # Without its threads the model would answer nobody any more.
                logger.exception("somebody was not answered, or a metric not told")
            finally:
                with self._changed:
                    self._working -= 1
                    self._queue.done(tickets)
                    self._changed.notify_all()

    def _take(self) -> list[Ticket]:
        """Wait for work; return nothing once there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue.is_ready or (self._closing and not self._queue))
            tickets = self._queue.take()
            self._working += bool(tickets)
            self._changed.notify_all()
            return tickets

    def _answer(self, tickets: Sequence[Ticket]) -> None:
        unanswered = dict(enumerate(tickets))
        try:
            for index, answer in self._engine.process([ticket.request for ticket in tickets]):
                unanswered.pop(index).answer(answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, everybody gets an answer
            for ticket in unanswered.values():
                ticket.answer(error)
