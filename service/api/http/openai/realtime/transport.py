"""Transports of a session: events both ways, and audio in them or beside them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from service.api.http.openai.realtime.client_events import BadEventError, read_event

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from pipelines.audio.encoding import SpeechFormat
    from pipelines.audio.formats import AudioFormat
    from service.api.http.openai.realtime.client_events import ClientEvent
    from service.sessions.reply_queue import ReplyQueue


@dataclass(frozen=True, slots=True)
class Tracks:
    """Audio of a session beside its events.

    Attributes:
        heard: format of the audio that comes, as `AppendAudio`.
        spoken: format of the audio that goes.
        speech: takes that audio.
    """

    heard: AudioFormat
    spoken: SpeechFormat
    speech: ReplyQueue


class Transport(Protocol):
    """Other side of a session."""

    @property
    def tracks(self) -> Tracks | None:
        """Its tracks; None: audio comes and goes in events."""

    async def receive(self) -> ClientEvent | None:
        """Return the next event; None when the client is gone.

        Raises:
            BadEventError: the message is none.
        """

    async def send(self, text: str) -> None:
        """Send an event."""


class WebSocketTransport:
    """A client behind a WebSocket.

    Args:
        websocket: accepted before the first event is sent.
    """

    tracks: Tracks | None = None

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def send(self, text: str) -> None:
        """Send an event; see `Transport`."""
        await self._websocket.send_text(text)

    async def receive(self) -> ClientEvent | None:
        """Return the next event; see `Transport`."""
        text = await self.receive_text()
        return None if text is None else await read_event(text)

    async def receive_text(self) -> str | None:
        """Return the next message; None when the client is gone.

        Raises:
            BadEventError: the message is binary.
        """
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text: str | None = message.get("text")
        if text is None:
            raise BadEventError("body", "INVALID_JSON", "binary messages are not taken: send events as text")
        # Many small events in a row must not keep other callers waiting.
        await asyncio.sleep(0)
        return text
