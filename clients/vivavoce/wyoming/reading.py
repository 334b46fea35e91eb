"""Reads events, and no more of them than a client may send."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from wyoming.event import async_read_event

from vivavoce._timeout import timeout
from vivavoce.wyoming.errors import RefusedError

if TYPE_CHECKING:
    from wyoming.event import Event

MAX_EVENT_BYTES = 1024 * 1024
"""Length of the data, and of the payload, of one event."""
IDLE_SECONDS = 15 * 60.0
"""Silence after which a client counts as gone; the service itself is as patient."""


class BoundedReader(asyncio.StreamReader):
    """A reader that does not collect what a client merely announces."""

    async def readexactly(self, n: int) -> bytes:
        """Read `n` bytes.

        Raises:
            RefusedError: That is more than an event may hold.
            asyncio.IncompleteReadError: The client went before all had come.
        """
        if n > MAX_EVENT_BYTES:
            message = f"An event announces {n} bytes; send at most {MAX_EVENT_BYTES} at once."
            raise RefusedError("event-too-large", message)
        return await super().readexactly(n)


async def read_event(reader: asyncio.StreamReader) -> Event | None:
    """Return the next event, or None when the client has said all.

    Raises:
        RefusedError: What came is no event; where the next one begins is not known.
        TimeoutError: Nothing came for a long time.
        asyncio.IncompleteReadError: The client went in the middle of an event.
    """
    try:
        async with timeout(IDLE_SECONDS):
            event = await async_read_event(reader)
    except (AttributeError, KeyError, TypeError) as error:  # Valid JSON of another shape.
        raise _no_event() from error
    if event is None and not reader.at_eof():
        raise _no_event()
    return event


def _no_event() -> RefusedError:
    return RefusedError(
        "bad-event", "That is no Wyoming event: send a line of JSON with a type, then what it announces."
    )
