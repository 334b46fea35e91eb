"""A client of ``/v1/realtime/calls`` on aiortc, as OpenAI's clients negotiate it."""

from __future__ import annotations

import asyncio
import contextlib
import fractions
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCIceCandidate, RTCPeerConnection, RTCSessionDescription
from av import AudioFrame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import numpy.typing as npt

RATE_HZ = 48_000
FRAME = RATE_HZ // 50
QUIET = 300
"""Samples of 16 bits below which audio is silence."""


class Microphone(MediaStreamTrack):
    """Speaks what it is given at the pace of speech, and silence otherwise."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._samples = np.zeros(0, "<i2")
        self._at = 0
        self._began = 0.0
        self.is_over = asyncio.Event()
        self.ended_at = 0.0

    def say(self, samples: npt.NDArray[np.int16]) -> None:
        self._samples = np.concatenate([self._samples, samples])
        self.is_over.clear()

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        self._began = self._began or loop.time()
        await asyncio.sleep(self._began + self._at / RATE_HZ - loop.time())
        spoken, self._samples = self._samples[:FRAME], self._samples[FRAME:]
        if len(spoken) and not len(self._samples):
            self.ended_at = loop.time()
            self.is_over.set()
        frame = AudioFrame("s16", "mono", FRAME)
        frame.planes[0].update(np.pad(spoken, (0, FRAME - len(spoken))).astype("<i2").tobytes())
        frame.sample_rate, frame.pts, frame.time_base = RATE_HZ, self._at, fractions.Fraction(1, RATE_HZ)
        self._at += FRAME
        return frame


def form(fields: dict[str, str]) -> aiohttp.FormData:
    body = aiohttp.FormData(default_to_multipart=True)
    for name, value in fields.items():
        body.add_field(name, value, content_type="application/sdp" if name == "sdp" else "application/json")
    return body


class WebCaller:
    """One call."""

    def __init__(self, session: aiohttp.ClientSession, path: str = "/v1/realtime/calls") -> None:
        self._session, self._path = session, path
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.microphone = Microphone()
        self.connection.addTrack(self.microphone)
        self.connection.on("track", self._listen)
        self.channel = self.connection.createDataChannel("oai-events")
        self.channel.on("message", lambda text: self._came.put_nowait(json.loads(text)))
        self.channel.on("close", lambda: self._came.put_nowait({"type": "closed"}))
        self._came: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.events: list[dict[str, Any]] = []
        self.heard_at: list[float] = []
        self.location = ""
        self._listening: list[asyncio.Task[None]] = []

    async def offer(self) -> str:
        await self.connection.setLocalDescription(await self.connection.createOffer())
        return self.connection.localDescription.sdp

    async def call(self, **options: Any) -> None:
        offer = await self.offer()
        body = options.pop("data", offer)
        if isinstance(body, dict):
            body = form({"sdp": offer, **body})
        headers = {"content-type": "application/sdp"} if body is offer else {}
        headers |= options.pop("headers", {})
        async with self._session.post(self._path, data=body, headers=headers, **options) as response:
            answer = await response.text()
            assert response.status == 201, answer
            assert response.content_type == "application/sdp"
            self.location = response.headers["location"]
        await self.accept(answer)

    async def accept(self, answer: str) -> None:
        await self.connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    def candidates(self) -> list[RTCIceCandidate]:
        """Those of the service."""
        return self.connection.sctp.transport.transport.getRemoteCandidates()

    def send(self, kind: str, **members: Any) -> None:
        self.channel.send(json.dumps({"type": kind, **members}))

    async def until(self, kind: str, seconds: float = 10.0) -> dict[str, Any]:
        async with asyncio.timeout(seconds):
            while True:
                event = await self._came.get()
                self.events.append(event)
                if event["type"] == kind:
                    return event
                assert event["type"] != "error", event

    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def _listen(self, track: MediaStreamTrack) -> None:
        async def listen() -> None:
            with contextlib.suppress(Exception):
                while True:
                    frame = await track.recv()
                    if np.abs(frame.to_ndarray()).max() > QUIET:
                        self.heard_at.append(asyncio.get_running_loop().time())

        self._listening.append(asyncio.create_task(listen()))

    async def close(self) -> None:
        await self.connection.close()
        for task in self._listening:
            task.cancel()
        if self._listening:
            await asyncio.wait(self._listening)


@contextlib.asynccontextmanager
async def calling(session: aiohttp.ClientSession, **options: Any) -> AsyncIterator[WebCaller]:
    caller = WebCaller(session)
    try:
        await caller.call(**options)
        yield caller
    finally:
        await caller.close()
