"""Until when an answer counts, known to whatever is asked on the way, as gRPC hands deadlines on from call to call."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_deadline: contextvars.ContextVar[float | None] = contextvars.ContextVar("deadline", default=None)


@contextlib.contextmanager
def answers_within(seconds: float | None) -> Iterator[None]:
    """Says that what the body asks for is of no use after so many seconds; None says nothing."""
    token = _deadline.set(None if seconds is None else time.time() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def answers_until(due: float | None) -> contextlib.AbstractContextManager[None]:
    """Says that what the body asks for is of no use after ``due``, on the running loop's clock; None says nothing."""
    return answers_within(None if due is None else due - asyncio.get_running_loop().time())


def deadline() -> float | None:
    """Returns when the answer to what is asked now is of no use any more, in seconds since 1970, if that is known."""
    return _deadline.get()
