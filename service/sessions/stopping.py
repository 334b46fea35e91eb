"""Requests to stop the service: the first begins the drain, a second one ends it."""

from __future__ import annotations

import asyncio
import logging
import signal

logger = logging.getLogger(__name__)

_SAME_REQUEST_SECONDS = 1.0
"""`timeout` and terminals send a signal to a process and to its group: the same process may get it twice."""


class StopRequests:
    """Stop requests of the operator, by signals.

    Attributes:
        stop: set by the first request.
        hasten: set by a second one: what is under way is ended at once.
    """

    def __init__(self) -> None:
        self.stop, self.hasten = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._first_at = 0.0

    def listen(self) -> None:
        """Handle SIGINT, SIGTERM and SIGHUP, unless ignored as under nohup."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._loop.add_signal_handler(number, self.request)

    def request(self) -> None:
        """Take one request; within a second of the first one, another is the same."""
        now = self._loop.time()
        if not self.stop.is_set():
            self._first_at = now
            self.stop.set()
        elif now - self._first_at >= _SAME_REQUEST_SECONDS and not self.hasten.is_set():
            logger.info("asked to stop again: what is under way is ended")
            self.hasten.set()
