"""Log output on a thread of its own, so that a slow reader blocks nobody.

Callers can make the service log, and nobody may read the pipe that the log goes to. So lines wait in a bounded queue
and are dropped past it, and records of one kind are counted instead of repeated. Exceptions are told by their kind and
the calls that led to them: their messages might hold what was said.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.telemetry.log_context import log_context
from service.telemetry.log_formats import FORMAT, MAX_LINE_BYTES, ServiceFormatter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STDERR = 2
"""The file descriptor of standard error."""

MAX_WAITING_BYTES = 1 << 20
"""Log that waits to be written; what comes while so much waits is dropped and counted."""

MAX_REPEATS = 5
"""Records of one kind that are written within :data:`REPEAT_SECONDS`; the others are counted."""

REPEAT_SECONDS = 10.0

_MAX_KINDS = 256
_OTHERS = ("", 0, "")
"""Stands for the kinds beyond those."""
_CLOSE_SECONDS = 1.0
_TICK_SECONDS = 1.0
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


class LineWriter:
    """Writes lines to a file descriptor from a thread of its own.

    Args:
        descriptor: where to; a write to it may block for ever.
        max_waiting_bytes: see :data:`MAX_WAITING_BYTES`.
        on_tick: called about once a second, from the thread.
        plain: makes a line of a sentence.
    """

    def __init__(
        self,
        descriptor: int,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        on_tick: Callable[[], None] = lambda: None,
        plain: Callable[[str], str] = str,
    ) -> None:
        self._descriptor = descriptor
        self._max_waiting_bytes = max_waiting_bytes
        self._on_tick = on_tick
        self._plain = plain
        self._lines: collections.deque[bytes] = collections.deque()
        self._waiting_bytes = 0
        self._dropped = 0
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Add a line, which ends with a line feed; never waits for the reader of the log."""
        with self._changed:
            if self._waiting_bytes + len(line) > self._max_waiting_bytes:
                self._dropped += 1
                return
            self._lines.append(line)
            self._waiting_bytes += len(line)
            self._changed.notify()

    def close(self, seconds: float = _CLOSE_SECONDS) -> None:
        """Write what waits, within a time limit."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _run(self) -> None:
        next_tick = time.monotonic() + _TICK_SECONDS
        while True:
            with self._changed:
                if not self._lines and not self._closed:
                    self._changed.wait(max(0.0, next_tick - time.monotonic()))
                block = b"".join(self._lines)
                self._lines.clear()
                dropped, self._dropped = self._dropped, 0
                ended = self._closed and not block
            if dropped:
                block += self._plain(f"{dropped} lines of the log were dropped because nobody read it").encode() + b"\n"
            with contextlib.suppress(OSError):  # the other end of the pipe is closed, or the disk is full
                self._write(block)
            with self._changed:
                self._waiting_bytes = sum(map(len, self._lines))
            if ended:
                return
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + _TICK_SECONDS
                self._on_tick()

    def _write(self, block: bytes) -> None:
        while block:
            block = block[os.write(self._descriptor, block) :]


@dataclass(slots=True)
class _Kind:
    """Suppressed records of one kind: start, count and the last one."""

    since: float
    count: int
    last: logging.LogRecord


class Repeats:
    """Tells which records repeat others, by their text without its numbers.

    Args:
        clock: seconds on any clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: dict[tuple[str, int, str], _Kind] = {}
        self._lock = threading.Lock()

    def admit(self, record: logging.LogRecord) -> bool:
        """Return whether to write a record; information always is."""
        if record.levelno < logging.WARNING:
            return True
        key = (record.name, record.levelno, _NUMBERS.sub("#", record.getMessage()[:200]))
        with self._lock:
            if key not in self._kinds and len(self._kinds) >= _MAX_KINDS:
                key = _OTHERS
            kind = self._kinds.setdefault(key, _Kind(self._clock(), 0, record))
            kind.count += 1
            kind.last = record
            return kind.count <= MAX_REPEATS

    def take_due(self, *, every: bool = False) -> list[tuple[logging.LogRecord, int]]:
        """Return the last record of each elapsed kind, with its count.

        Args:
            every: whether kinds whose time is not over are returned too.
        """
        with self._lock:
            now = self._clock()
            over = [key for key, kind in self._kinds.items() if every or now >= kind.since + REPEAT_SECONDS]
            kinds = [self._kinds.pop(key) for key in over]
        return [(kind.last, kind.count - MAX_REPEATS) for kind in kinds if kind.count > MAX_REPEATS]


class LogHandler(logging.Handler):
    """Hands records to a :class:`LineWriter`.

    Args:
        descriptor: where the log goes.
        formatter: makes lines of records.
    """

    def __init__(self, descriptor: int, formatter: ServiceFormatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._formatter = formatter
        self._repeats = Repeats()
        self._writer = LineWriter(descriptor, on_tick=self._sum_up, plain=formatter.plain)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, unless enough like it were written."""
        try:
            # Here and not later: records that are counted are told by another thread.
            record.context = log_context()
            if self._repeats.admit(record):
                self._put(self.format(record))
        except Exception:  # noqa: BLE001 - a record that cannot be formatted must not end what logs it
            self.handleError(record)

    def write(self, text: str) -> None:
        """Write a line that is no record."""
        self._put(self._formatter.plain(text))

    def _put(self, text: str) -> None:
        self._writer.put(text.encode(errors="backslashreplace")[:MAX_LINE_BYTES] + b"\n")

    def close(self) -> None:
        """Write what waits, within reason."""
        self._sum_up(every=True)
        self._writer.close()
        super().close()

    def _sum_up(self, *, every: bool = False) -> None:
        for last, count in self._repeats.take_due(every=every):
            record = logging.makeLogRecord(last.__dict__ | {"exc_info": None, "exc_text": None})
            self._put(self._formatter.repeated(record, count, REPEAT_SECONDS))


@contextlib.contextmanager
def logging_to(descriptor: int, level: int | str, formatter: ServiceFormatter | None = None) -> Iterator[LogHandler]:
    """Log to a file descriptor while the body runs, without blocking."""
    handler = LogHandler(descriptor, formatter or ServiceFormatter(FORMAT))
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(level)
    try:
        yield handler
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        handler.close()
