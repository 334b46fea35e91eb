"""Events of the server, on their way to one client."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from service.api.http.openai.realtime.dialects import Dialect
from service.api.http.problems import problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from service.api.http.openai.realtime.dialects import Told


def new_id(kind: str) -> str:
    """Return a new id such as ``item_3f…``."""
    return f"{kind}_{secrets.token_hex(12)}"


class EventSender:
    """Sends events to one client.

    Args:
        send: sends a message.
        dialect: what the client reads.

    Attributes:
        dialect: the same, after what was sent.
    """

    def __init__(self, send: Callable[[str], Awaitable[None]], dialect: Dialect | None = None) -> None:
        self._send = send
        self.dialect = dialect or Dialect()

    async def send(self, kind: str, **members: Any) -> None:  # noqa: ANN401 - JSON
        """Send an event of a type, as the client reads it."""
        self.dialect, told = self.dialect.write(kind, members)
        await self.send_all(told)

    async def send_all(self, told: Told) -> None:
        """Send events as they are."""
        for kind, members in told:
            await self._send(msgspec.json.encode({"type": kind, "event_id": new_id("event"), **members}).decode())

    async def error(self, error: Exception, event_id: str | None = None) -> None:
        """Send an error; ``event_id`` is the client's name of the event that caused it."""
        await self.send("error", error={**problem_of(error).openai_error(), "event_id": event_id})
