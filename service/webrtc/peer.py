"""One client over WebRTC: a track each way, and a data channel for events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import TYPE_CHECKING

from aiortc import RTCPeerConnection, RTCRtpReceiver, RTCSessionDescription
from aiortc.exceptions import InvalidStateError

from pipelines.errors import ErrorKind, InvalidInputError
from pipelines.session.outbox import SlowReaderError
from service.refusals import ServiceError
from service.sessions.reply_queue import ReplyQueue
from service.webrtc.offers import OPUS, checked_offer
from service.webrtc.packets import PacketOrder
from service.webrtc.tracks import SPOKEN_HZ, OpusListener, SpeechTrack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiortc import RTCDataChannel, RTCIceTransport, RTCRtpTransceiver

    from service.webrtc.network import Network

logger = logging.getLogger(__name__)

# What they log names the addresses of callers, and what a caller sends can make them log at will.
for _name in ("aiortc", "aioice"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

_JITTER_BUFFER = "_RTCRtpReceiver__jitter_buffer"
CONNECT_SECONDS = 15.0
"""Time for a client to connect after it was answered."""
CLOSE_SECONDS = 5.0
MAX_HEARD = 500
"""Pieces of audio that may wait, 10 s: more can only be lost, for nobody can make a microphone wait."""
MAX_EVENTS = 256
"""Events that may wait to be read, and that wait until the data channel opens."""
MAX_UNREAD_BYTES = 1 << 20
"""Of events that the client does not read."""


class NotConnectedError(ServiceError):
    """A client was answered, and never connected."""

    kind = ErrorKind.TIMED_OUT
    reason = "NOT_CONNECTED"

    def __init__(self) -> None:
        super().__init__(
            f"no connection came about within {CONNECT_SECONDS:g} s: see that UDP reaches this service, or use a TURN "
            "server"
        )


class TooManyEventsError(ServiceError):
    """A client sends events faster than they can be read."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MANY_EVENTS"

    def __init__(self) -> None:
        super().__init__(f"over {MAX_EVENTS} events wait to be read: send them as the answers come")


class Peer:
    """The client.

    Args:
        network: is listened on.

    Attributes:
        speech: takes what is to be spoken, as `tracks.SPOKEN`.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._connection = RTCPeerConnection(network.configuration())
        self._connection.on("datachannel", self._take_channel)
        self._connection.on("connectionstatechange", self._look)
        self.speech = ReplyQueue(2 * SPOKEN_HZ)
        self._channel: RTCDataChannel | None = None
        self._unsent: deque[str] = deque(maxlen=MAX_EVENTS)
        self._heard: deque[bytes] = deque()
        self._events: deque[str] = deque()
        self._came = asyncio.Event()
        self._is_connected = asyncio.Event()
        self._is_over = asyncio.Event()
        self._error: ServiceError | None = None

    @contextlib.asynccontextmanager
    async def answering(self, offer: str) -> AsyncIterator[str]:
        """Answer an offer; the connection lasts as long as the body runs.

        Raises:
            InvalidInputError: the offer cannot be answered.
        """
        offer = checked_offer(offer)
        try:
            yield await self._answer(offer)
        finally:
            self._end()
            # aiortc closes too, by itself, and cannot be cancelled in it.
            closing = asyncio.ensure_future(self._connection.close())
            _, late = await asyncio.wait((closing,), timeout=CLOSE_SECONDS)
            if late:
                logger.warning("a connection of WebRTC did not close within %g s", CLOSE_SECONDS)

    async def _answer(self, offer: str) -> str:
        connection = self._connection
        transceiver = connection.addTransceiver(SpeechTrack(self.speech), "sendrecv")
        capabilities = RTCRtpReceiver.getCapabilities("audio")
        assert capabilities is not None
        transceiver.setCodecPreferences([codec for codec in capabilities.codecs if codec.mimeType.lower() == OPUS])
        # aiortc offers no way to choose its buffer.
        setattr(transceiver.receiver, _JITTER_BUFFER, PacketOrder(OpusListener(self._hear).listen))
        try:
            await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
            await asyncio.gather(*map(self._network.gather, self._transports(transceiver)))
            await connection.setLocalDescription(await connection.createAnswer())
        except (ValueError, InvalidStateError) as error:
            message = "the offer cannot be answered: send what createOffer() returns, with Opus"
            raise InvalidInputError("sdp", "MALFORMED_OFFER", message) from error
        return connection.localDescription.sdp

    def _transports(self, transceiver: RTCRtpTransceiver) -> set[RTCIceTransport]:
        found = {transceiver.receiver.transport.transport}
        sctp = self._connection.sctp
        return found if sctp is None else found | {sctp.transport.transport}

    async def connected(self) -> None:
        """Wait until the client has connected.

        Raises:
            NotConnectedError: it does not.
        """
        waiting = [asyncio.create_task(event.wait()) for event in (self._is_connected, self._is_over)]
        try:
            await asyncio.wait(waiting, timeout=CONNECT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        if not self._is_connected.is_set():
            raise NotConnectedError

    async def receive(self) -> str | bytes | None:
        """Return the next event, or audio as `tracks.HEARD`; None at the end.

        Raises:
            TooManyEventsError: the client sends more than can be read.
        """
        while not (self._events or self._heard):
            if self._error is not None:
                raise self._error
            if self._is_over.is_set():
                return None
            self._came.clear()
            await self._came.wait()
        return self._events.popleft() if self._events else self._heard.popleft()

    async def send(self, text: str) -> None:
        """Send an event, as soon as there is a data channel.

        Raises:
            SlowReaderError: the client does not read.
        """
        if self._channel is None or self._channel.readyState == "connecting":
            self._unsent.append(text)
            return
        if self._channel.bufferedAmount > MAX_UNREAD_BYTES:
            raise SlowReaderError("very many events were not read: read them as they come")
        # The end of the connection is told by its state.
        with contextlib.suppress(InvalidStateError, ConnectionError):
            self._channel.send(text)

    def _hear(self, audio: bytes) -> None:
        if len(self._heard) < MAX_HEARD:
            self._heard.append(audio)
            self._came.set()

    def _take_channel(self, channel: RTCDataChannel) -> None:
        if self._channel is not None:
            channel.close()
            return
        self._channel = channel
        channel.on("message", self._take_event)
        channel.on("close", self._end)
        while self._unsent:
            channel.send(self._unsent.popleft())

    def _take_event(self, event: str | bytes) -> None:
        if len(self._events) >= MAX_EVENTS:
            self._error = TooManyEventsError()
            self._events.clear()
            self._heard.clear()
        elif self._error is None:
            self._events.append(event if isinstance(event, str) else event.decode("utf-8", "replace"))
        self._came.set()

    def _look(self) -> None:
        state = self._connection.connectionState
        if state == "connected":
            self._is_connected.set()
        elif state in {"failed", "closed"}:
            self._end()

    def _end(self) -> None:
        self._is_over.set()
        self._came.set()
