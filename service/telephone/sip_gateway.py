"""Gateway from SIP to AudioSocket, on baresip."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from baresip import Account, AudioNotActive, AudioRestarted, BaresipError, Config, Runtime, UserAgent
from baresip.call import CallState

from service.telephone.audiosocket_frames import AUDIO, HANG_UP, KEY, NAME, frame_of, read_frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from baresip import Call, DigitEvent

logger = logging.getLogger(__name__)

USER = "vivavoce"
CODECS = ("pcmu", "pcma")
"""Codecs at 8 kHz: what AudioSocket has."""
POLL_SECONDS = 0.01
"""How often it is looked for sound: baresip calls nobody back."""
RTP_SECONDS = 20
"""A caller of whom nothing comes for so long has vanished."""
CONNECT_SECONDS = 5.0
_MAX_READ_BYTES = 3_200


@dataclass(frozen=True, slots=True)
class Line:
    """Account or address of calls.

    Attributes:
        address: to listen on; "": any, with a registrar.
        port: to listen on; 0: 5060, or any with a registrar.
        registrar: host to register with; "": none.
        user: name there.
        password: its password.
        transport: udp, tcp or tls.
        max_calls: calls at a time; more are told that it is busy.
    """

    address: str = ""
    port: int = 0
    registrar: str = ""
    user: str = USER
    password: str = ""
    transport: Literal["udp", "tcp", "tls"] = "udp"
    max_calls: int = 32

    def config(self) -> Config:
        """Return baresip's configuration."""
        listening = f"sip_listen {self.address}:{self.port}\n" if self.address else ""
        return Config(
            net_interface=self.address or None,
            max_concurrent_calls=self.max_calls,
            rtp_timeout=RTP_SECONDS,
            native_log_level="error",
            extra_config_text=listening,
        )

    def account(self) -> Account:
        """Return baresip's account."""
        return Account(
            user=self.user,
            domain=self.registrar or self.address,
            password=self.password,
            reg_interval=600 if self.registrar else 0,
            transport=self.transport,
            audio_codecs=CODECS,
            # Whatever name was dialled, this is who answers.
            extra_params=() if self.registrar else ("catchall=yes",),
        )


class SipGateway:
    """Answers telephones, and hands each call to a service.

    Args:
        host: of the service.
        port: of the service's AudioSocket.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._calls: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def answering(self, line: Line) -> AsyncIterator[None]:
        """Answer calls of a line while the body runs.

        Raises:
            BaresipError: the registrar refuses.
            OSError: it cannot be listened on the address.
        """
        if line.address:
            _check_free(line.address, line.port)
        runtime = Runtime()
        await runtime.start(line.config())
        try:
            agent = await UserAgent.create(runtime, line.account(), transfer_policy="reject")
            agent.on_incoming(self._take)
            if line.registrar:
                await agent.register()
            yield
        finally:
            for call in self._calls:
                call.cancel()
            if self._calls:
                await asyncio.wait(self._calls)
            await runtime.close()

    def _take(self, call: Call) -> None:
        task = asyncio.create_task(self._hold(call), name="SIP call")
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _hold(self, call: Call) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(self._host, self._port)
        except (OSError, TimeoutError):
            logger.error("a call was refused: there is no service at %s:%d", self._host, self._port)  # noqa: TRY400
            await _end(call)
            return
        try:
            writer.write(frame_of(NAME, uuid.uuid4().bytes))
            await call.answer()
            await call.wait_established()
            logger.info("a call has begun")
            await _bridge(call, reader, writer)
            logger.info("a call has ended")
        except BaresipError as error:
            logger.warning("a call was ended: %s", error)
        finally:
            await _end(call)
            with contextlib.suppress(OSError):
                writer.write(frame_of(HANG_UP))
            writer.close()


async def _bridge(call: Call, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry sound and keys both ways, until one side hangs up."""

    def press(event: DigitEvent) -> None:
        writer.write(frame_of(KEY, event.digit.encode()))

    call.on_dtmf(press)
    ways = [asyncio.create_task(_hear(call, writer)), asyncio.create_task(_speak(call, reader))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        call.off_dtmf(press)
        for way in ways:
            way.cancel()
        await asyncio.wait(ways)


async def _hear(call: Call, writer: asyncio.StreamWriter) -> None:
    """Send what the caller says to the service."""
    with contextlib.suppress(OSError):
        while call.state is CallState.ESTABLISHED:
            # In a hold there is no audio, and behind a re-INVITE another one.
            with contextlib.suppress(AudioNotActive, AudioRestarted):
                if audio := call.audio.read(_MAX_READ_BYTES):
                    writer.write(frame_of(AUDIO, audio))
                    await writer.drain()
            await asyncio.sleep(POLL_SECONDS)


async def _speak(call: Call, reader: asyncio.StreamReader) -> None:
    """Play what the service says to the caller."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while True:
            kind, payload = await read_frame(reader)
            if kind == HANG_UP:
                return
            if kind == AUDIO:
                with contextlib.suppress(AudioNotActive, AudioRestarted):
                    call.audio.write(payload)


def _check_free(address: str, port: int) -> None:
    """Raise OSError where nobody can listen: baresip would be silent about it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.bind((address.strip("[]"), port))


async def _end(call: Call) -> None:
    # The caller may have hung up meanwhile.
    with contextlib.suppress(BaresipError):
        if call.state is CallState.INCOMING:
            await call.reject()
        elif call.state is CallState.ESTABLISHED:
            await call.hangup()
