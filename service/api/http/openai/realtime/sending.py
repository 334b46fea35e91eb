"""Events of the server: ids, and the names that older clients know."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from service.api.http.problems import problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_BETA_NAMES = {
    "response.output_text.delta": "response.text.delta",
    "response.output_text.done": "response.text.done",
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "conversation.item.added": "conversation.item.created",
}
_NOT_IN_BETA = frozenset(("conversation.item.done",))
_BETA_CONTENTS = {"output_text": "text", "output_audio": "audio"}


def new_id(kind: str) -> str:
    """Return a new id such as ``item_3f…``."""
    return f"{kind}_{secrets.token_hex(12)}"


class EventSender:
    """Sends events to one client.

    Args:
        send: sends a message.
        is_beta: whether the client knows the names of the beta.
    """

    def __init__(self, send: Callable[[str], Awaitable[None]], *, is_beta: bool) -> None:
        self._send = send
        self.is_beta = is_beta

    async def send(self, kind: str, **members: Any) -> None:  # noqa: ANN401 - JSON
        """Send an event of a type."""
        if self.is_beta:
            if kind in _NOT_IN_BETA:
                return
            kind = _BETA_NAMES.get(kind, kind)
            if "item" in members:
                members["item"] = _beta_item(members["item"])
        event = {"type": kind, "event_id": new_id("event"), **members}
        await self._send(msgspec.json.encode(event).decode())

    async def error(self, error: Exception, event_id: str | None = None) -> None:
        """Send an error.

        Args:
            error: what is wrong.
            event_id: the client's name of the event that caused it; None: none did, or it had no name.
        """
        await self.send("error", error={**problem_of(error).openai_error(), "event_id": event_id})


def _beta_item(item: dict[str, Any]) -> dict[str, Any]:
    contents = [{**one, "type": _BETA_CONTENTS.get(one["type"], one["type"])} for one in item.get("content", ())]
    return {**item, "content": contents} if contents else item
