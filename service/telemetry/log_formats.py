"""Log formats: text and JSON, without messages of exceptions."""

from __future__ import annotations

import copy
import datetime as dt
import logging
import time
import traceback
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import TypeAlias

    ExcInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

FORMAT = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"

MAX_LINE_BYTES = 16_384
"""The rest of a longer record is left out."""


class ServiceFormatter(logging.Formatter):
    """Formatter of records without the messages of exceptions."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        # Formatters keep the text of an exception in the record, where one of another handler may have left its own.
        own = copy.copy(record)
        own.exc_text = None
        return super().format(own)

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - named by logging
        """Return the calls that led to an exception, and its kind."""
        kind, _, calls = ei
        return "".join(traceback.format_tb(calls)) + (kind.__qualname__ if kind else "")

    def repeated(self, record: logging.LogRecord, count: int, seconds: float) -> str:
        """Return the text of a record that stands for ``count`` in so many seconds."""
        return f"{self.format(record)} (and {count} more like it within {seconds:g} s)"

    def plain(self, text: str) -> str:
        """Return a line that is no record."""
        return text


class JsonFormatter(ServiceFormatter):
    """Formats records as JSON, one object a line.

    ``fields`` of a record (by ``extra``) become members, and ``context`` too, where the handler has found one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one JSON object."""
        return _line(self._members(record))

    def repeated(self, record: logging.LogRecord, count: int, seconds: float) -> str:  # noqa: ARG002
        """See :class:`ServiceFormatter`."""
        return _line(self._members(record) | {"repeats": count})

    def plain(self, text: str) -> str:
        """See :class:`ServiceFormatter`."""
        return _line({"time": _moment(time.time()), "level": "ERROR", "logger": "service", "message": text})

    def _members(self, record: logging.LogRecord) -> dict[str, Any]:
        members: dict[str, Any] = {
            "time": _moment(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "context", {}),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            members["exception"] = self.formatException(record.exc_info)
        return members


LOG_FORMATTERS: Mapping[str, Callable[[], ServiceFormatter]] = {
    "text": lambda: ServiceFormatter(FORMAT),
    "json": JsonFormatter,
}
"""By the name of the format in the configuration."""


def _moment(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="milliseconds")


def _line(members: dict[str, Any]) -> str:
    """Write an object that is still one where its texts have to be cut."""
    cut = members
    limit = MAX_LINE_BYTES
    while len(line := _encode(cut)) > MAX_LINE_BYTES:
        limit //= 2
        cut = {name: value[:limit] if isinstance(value, str) else value for name, value in members.items()}
    return line.decode()


def _encode(members: dict[str, Any]) -> bytes:
    # Text from outside may hold half a surrogate pair, which is no UTF-8.
    sound = {k: v.encode(errors="backslashreplace").decode() if isinstance(v, str) else v for k, v in members.items()}
    return msgspec.json.encode(sound)
