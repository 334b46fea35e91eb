"""AudioSocket, the protocol of Asterisk's application of that name, over TCP.

The first frame names the call by a UUID.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from typing import TYPE_CHECKING

from pipelines.audio.formats import Encoding
from pipelines.errors import PipelineError, ReportedError
from service.addresses import ListenError
from service.telemetry.call_observer import CallObserver, telling
from service.telemetry.failed_calls import report_failure
from service.telephone.audiosocket_frames import (
    AUDIO,
    BYTES_PER_SAMPLE,
    ERROR,
    HANG_UP,
    KEY,
    KEYS,
    NAME,
    RATE_HZ,
    frame_of,
    read_frame,
)
from service.telephone.call import Call, Keys, Line, Sound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from service.sessions.host import SessionHost
    from service.telephone.recordings import Recording

logger = logging.getLogger(__name__)

METHOD = "AUDIOSOCKET"
"""By which metrics and traces know these calls."""
NAME_SECONDS = 5.0
"""Time for the frame that names the call."""
SILENT_SECONDS = 60.0
"""A switch that sends nothing for so long has gone: one with a call sends audio all the time."""
MAX_CONNECTIONS = 1_024
_UUID_BYTES = 16


class BadFrameError(PipelineError):
    """Bytes that are no frame of AudioSocket."""


class AudioSocketSwitch:
    """The switch behind one connection.

    Args:
        reader, writer: the connection.

    Attributes:
        name: the UUID of the call, once `begin` has read it.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._is_over = False
        self.name = ""

    async def begin(self) -> None:
        """Read the frame that names the call.

        Raises:
            BadFrameError: another one came, or none in time.
        """
        try:
            async with asyncio.timeout(NAME_SECONDS):
                kind, payload = await read_frame(self._reader)
        except (TimeoutError, asyncio.IncompleteReadError):
            raise BadFrameError(f"no name of the call came within {NAME_SECONDS:g} s: use AudioSocket()") from None
        if kind != NAME or len(payload) != _UUID_BYTES:
            raise BadFrameError("the first frame is no UUID: give AudioSocket() one, such as ${UUID()}")
        self.name = str(uuid.UUID(bytes=payload))

    async def events(self) -> AsyncIterator[Sound | Keys]:
        """Yield what comes of the caller; see `Switch`.

        Raises:
            BadFrameError: it is no frame that a call has.
        """
        while True:
            try:
                async with asyncio.timeout(SILENT_SECONDS):
                    kind, payload = await read_frame(self._reader)
            except (TimeoutError, OSError, asyncio.IncompleteReadError):
                self._is_over = True
                return
            if kind == AUDIO:
                yield Sound(payload)
            elif kind == KEY:
                key = payload.decode("ascii", "replace")
                if key in KEYS:
                    yield Keys(key)
            elif kind in {HANG_UP, ERROR}:
                self._is_over = True
                return
            else:
                raise BadFrameError(f"a frame of kind 0x{kind:02x} came: send 16-bit audio at 8 kHz (0x10)")

    async def play(self, frame: bytes) -> None:
        """Send 20 ms of speech; see `Switch`."""
        if not self._is_over:
            await self._send(AUDIO, frame)

    async def clear(self) -> None:
        """Do nothing: Asterisk plays what it has, and has no more than was sent."""

    async def hang_up(self) -> None:
        """Give the call back to the dialplan."""
        await self._send(HANG_UP, b"")

    async def _send(self, kind: int, payload: bytes) -> None:
        # The end of the connection is told by its other side.
        with contextlib.suppress(OSError):
            self._writer.write(frame_of(kind, payload))
            await self._writer.drain()


class AudioSocketServer:
    """Answers calls of Asterisk's.

    Args:
        host: makes the conversations.
        address: to listen on.
        port: to listen on; 0 for one that the kernel chooses; None: nothing is opened.
        agent: who answers; "": every turn stands alone.
        knowledge: knowledge base that answers are looked for in; "": none.
        observer: hears of calls.
        recording: how calls are recorded; None: they are not.

    Attributes:
        port: the port, once it is open.
    """

    def __init__(
        self,
        host: SessionHost,
        address: str,
        port: int | None,
        agent: str = "",
        knowledge: str = "",
        observer: CallObserver | None = None,
        recording: Recording | None = None,
    ) -> None:
        self.port = port
        self._host = host
        self._observer = observer or CallObserver()
        self._address = "127.0.0.1" if address.startswith("unix:") else address.strip("[]")
        self._line = Line(
            Encoding.LINEAR_PCM, RATE_HZ, BYTES_PER_SAMPLE, agent, (knowledge,) if knowledge else (), recording
        )
        self._server: asyncio.Server | None = None
        self._calls: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen.

        Raises:
            ListenError: nobody can listen there.
        """
        if self.port is None:
            return
        try:
            self._server = await asyncio.start_server(self._answer, self._address, self.port)
        except OSError as error:
            reason = error.strerror or str(error)
            message = f"cannot listen on {self._address}:{self.port} ({reason}): choose another --audiosocket-port"
            raise ListenError(message) from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def leave(self) -> None:
        """Take no more calls."""
        if self._server is not None:
            self._server.close()

    async def close(self) -> None:
        """End all calls."""
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        switch = AudioSocketSwitch(reader, writer)
        try:
            if len(self._calls) <= MAX_CONNECTIONS:
                with telling(self._observer), self._observer.serving(METHOD, {}):
                    await self._hold(switch)
        except asyncio.CancelledError:
            logger.info("a call was ended, because the service stops")
        finally:
            await switch.hang_up()
            self._calls.discard(task)
            writer.close()

    async def _hold(self, switch: AudioSocketSwitch) -> None:
        try:
            await switch.begin()
            await Call(self._host, self._line, switch, switch.name if self._line.agent else "").hold()
        except ReportedError as error:
            report_failure(error)
        except BadFrameError as error:
            logger.warning("a call was ended: %s", error)
