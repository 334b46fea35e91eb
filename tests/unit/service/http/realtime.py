"""A client of ``/v1/realtime`` that sends and receives plain events."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.service.http.running import Openai

Event = dict[str, Any]

VAD = {"type": "server_vad", "silence_duration_ms": 300}


class Realtime:
    """One session."""

    def __init__(self, service: Openai, websocket: aiohttp.ClientWebSocketResponse) -> None:
        self.service, self._websocket = service, websocket
        self.heard: list[Event] = []
        self._looked_to = 0

    async def send(self, kind: str, **members: Any) -> None:
        await self._websocket.send_json({"type": kind, **members})

    async def send_raw(self, text: str) -> None:
        await self._websocket.send_str(text)

    async def update(self, **session: Any) -> Event:
        await self.send("session.update", session=session)
        return (await self.until("session.updated"))["session"]

    async def say(self, seconds: float, probability: float = 1.0) -> None:
        """Sends so many seconds that the fake voice takes for speech, or for silence."""
        await asyncio.sleep(0.02)
        self.service.voice.probability = probability
        for _ in range(round(seconds * 10)):
            audio = base64.b64encode(np.zeros(2_400, "<i2").tobytes()).decode()
            await self.send("input_audio_buffer.append", audio=audio)
        await self.send("conversation.item.retrieve", item_id="mark")
        while (event := await self.next())["type"] != "error":
            pass
        assert event["error"]["code"] == "item_not_found", event
        self.heard.pop()

    async def until(self, kind: str, **error: str) -> Event:
        """Returns the next event of a type that was not returned yet; those before it are kept in ``heard``."""
        while True:
            event = self.heard[self._looked_to] if self._looked_to < len(self.heard) else await self.next()
            self._looked_to += 1
            if event["type"] == kind and error.items() <= event.get("error", {}).items():
                return event
            assert event["type"] != "error", event

    def forget(self) -> None:
        self.heard.clear()
        self._looked_to = 0

    async def next(self) -> Event:
        async with asyncio.timeout(5):
            message = await self._websocket.receive()
        assert message.type is aiohttp.WSMsgType.TEXT, message
        event = json.loads(message.data)
        self.heard.append(event)
        return event

    async def closed(self) -> int:
        async with asyncio.timeout(5):
            while (message := await self._websocket.receive()).type is aiohttp.WSMsgType.TEXT:
                self.heard.append(json.loads(message.data))
        return message.data

    def types(self) -> list[str]:
        return [event["type"] for event in self.heard]


@contextlib.asynccontextmanager
async def connected(service: Openai, query: str = "?model=gpt-realtime", **options: Any) -> AsyncIterator[Realtime]:
    async with service.session.ws_connect(f"/v1/realtime{query}", **options) as websocket:
        session = Realtime(service, websocket)
        yield session
