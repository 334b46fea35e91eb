"""W3C Trace Context of the present work, for the model server."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRACEPARENT: ContextVar[str | None] = ContextVar("traceparent", default=None)


def current_traceparent() -> str | None:
    """Return ``version-trace_id-span_id-flags``; None where nothing is traced."""
    return _TRACEPARENT.get()


@contextlib.contextmanager
def traced_by(traceparent: str | None) -> Iterator[None]:
    """Say, while the body runs, what work is done for."""
    token = _TRACEPARENT.set(traceparent)
    try:
        yield
    finally:
        _TRACEPARENT.reset(token)


def trace_headers() -> dict[str, str] | None:
    """Return the headers of a request that is made now; None where nothing is traced."""
    traceparent = _TRACEPARENT.get()
    return None if traceparent is None else {"traceparent": traceparent}
