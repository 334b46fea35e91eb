"""Calls over WebRTC by aiortc, whose packets can be lost and late."""

from __future__ import annotations

import asyncio
import contextlib
import fractions
from typing import TYPE_CHECKING, Any

import aiohttp
import av
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from benchmarks.calls.caller import Caller

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RATE_HZ = 48_000


class _Microphone(MediaStreamTrack):
    """Gives out the frames that it is given."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self.frames: asyncio.Queue[npt.NDArray[np.int16]] = asyncio.Queue()
        self._at = 0

    async def recv(self) -> av.AudioFrame:
        samples = await self.frames.get()
        frame = av.AudioFrame("s16", "mono", len(samples))
        frame.planes[0].update(samples.tobytes())
        frame.sample_rate, frame.pts, frame.time_base = RATE_HZ, self._at, fractions.Fraction(1, RATE_HZ)
        self._at += len(samples)
        return frame


class WebRtcCaller(Caller):
    """One call; packets of both ways are lost and late."""

    def __init__(self, loss: float, jitter: float, seed: int) -> None:
        super().__init__(RATE_HZ, loss, jitter, seed)
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._microphone = _Microphone()
        self._decoder = av.CodecContext.create("libopus", "r")
        self._late: set[asyncio.Task[None]] = set()

    @classmethod
    async def calling(cls, url: str, agent: str, loss: float, jitter: float, seed: int) -> WebRtcCaller:
        """Call a service."""
        caller = cls(loss, jitter, seed)
        connection = caller._connection
        sender = connection.addTrack(caller._microphone)
        (transceiver,) = connection.getTransceivers()
        connection.createDataChannel("oai-events")
        caller._spoil(sender.transport, transceiver.receiver)
        await connection.setLocalDescription(await connection.createOffer())
        form = aiohttp.FormData(default_to_multipart=True)
        form.add_field("sdp", connection.localDescription.sdp)
        form.add_field("session", f'{{"type": "realtime", "vivavoce": {{"agent": "{agent}"}}}}')
        async with aiohttp.ClientSession() as session, session.post(f"{url}/v1/realtime/calls", data=form) as response:
            response.raise_for_status()
            answer = await response.text()
        await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        return caller

    def send(self, frame: npt.NDArray[np.int16]) -> None:
        """See `Caller`."""
        self._microphone.frames.put_nowait(frame)

    async def close(self) -> None:
        """See `Caller`."""
        await self._connection.close()
        for task in self._late:
            task.cancel()

    def _spoil(self, transport: Any, receiver: Any) -> None:  # noqa: ANN401 - aiortc's inner parts
        send = transport._send_rtp  # noqa: SLF001 - aiortc has no place for a bad network

        async def send_late(data: bytes, seconds: float) -> None:
            await asyncio.sleep(seconds)
            # The call may be over meanwhile.
            with contextlib.suppress(ConnectionError):
                await send(data)

        async def spoiled(data: bytes) -> None:
            if self.chance.random() < self.loss:
                return
            task = asyncio.create_task(send_late(data, self.chance.uniform(0.0, self.jitter)))
            self._late.add(task)
            task.add_done_callback(self._late.discard)

        async def listen(packet: Any, **_: Any) -> None:  # noqa: ANN401
            # At the wire: what a player's buffer adds is the player's.
            if self.chance.random() >= self.loss and packet.payload:
                for frame in self._decoder.decode(av.Packet(packet.payload)):
                    samples = frame.to_ndarray() * (1.0 if frame.format.name.startswith("s16") else 32_767.0)
                    self.hear(samples.astype("<i2").reshape(-1), self.chance.uniform(0.0, self.jitter))

        transport._send_rtp = spoiled  # noqa: SLF001
        receiver._handle_rtp_packet = listen  # noqa: SLF001
