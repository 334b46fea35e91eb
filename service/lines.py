"""Lines of a service: telephone switches, and WebRTC."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from service.addresses import ListenError
from service.config import ConfigError
from service.sessions.session_cipher import VARIABLE, read_cipher
from service.telephone.audiosocket import AudioSocketServer
from service.telephone.media_streams import MediaStreams
from service.telephone.recordings import Recording, Recordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import BaseRoute

    from service.api.http.openai.calls import RealtimeCalls
    from service.config import ServiceConfig
    from service.sessions.host import SessionHost
    from service.telemetry.call_observer import CallObserver


class Lines:
    """Lines of a service, as its configuration has them.

    Args:
        host: makes the conversations.
        config: of the service.
        observer: hears of calls.

    Attributes:
        routes: of the HTTP port, on which media streams and offers come.

    Raises:
        ConfigError: a package or the key of recordings is not there.
        ListenError: the agent or the knowledge base that is to answer is not there.
    """

    def __init__(self, host: SessionHost, config: ServiceConfig, observer: CallObserver | None = None) -> None:
        agent, knowledge = config.call_agent, config.call_knowledge
        for name, known, kind in ((agent, host.dialogs.agents, "agent"), (knowledge, host.knowledge, "knowledge")):
            if name and name not in known:
                there = f"choose one of {', '.join(sorted(known))}" if known else f"serve one with --{kind}"
                raise ListenError(f"calls cannot be answered: there is no --call-{kind} {name!r}: {there}")
        recording = self._recording = _recording(config)
        self._watching: asyncio.Task[None] | None = None
        self._sockets = AudioSocketServer(
            host, config.host, config.audiosocket_port, agent, knowledge, observer, recording
        )
        self._web_calls = _web_calls(host, config)
        streams = MediaStreams(host, agent, knowledge, recording).routes if config.media_streams else ()
        self.routes: Sequence[BaseRoute] = (*streams, *(self._web_calls.routes if self._web_calls else ()))

    @property
    def audiosocket_port(self) -> int:
        """Port of AudioSocket; 0 where there is none."""
        return self._sockets.port or 0

    async def open(self) -> None:
        """Listen; see `AudioSocketServer.open`."""
        await self._sockets.open()
        if self._recording is not None:
            self._watching = asyncio.create_task(self._recording.recordings.watch(), name="recordings")

    async def leave(self) -> None:
        """Take no more calls."""
        await self._sockets.leave()

    async def close(self) -> None:
        """End all calls."""
        await self._sockets.close()
        if self._web_calls is not None:
            await self._web_calls.close()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait((self._watching,))


def _web_calls(host: SessionHost, config: ServiceConfig) -> RealtimeCalls | None:
    """Return the calls over WebRTC; None where they are not served."""
    if not config.webrtc:
        return None
    try:
        from service.api.http.openai.calls import RealtimeCalls  # noqa: PLC0415 - only where it is wanted
        from service.webrtc.network import Network  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"WebRTC needs a package that is not there ({error.name}): install it with `pip install '.[webrtc]'` in a "
            "checkout of the project, or leave out --webrtc"
        ) from error
    return RealtimeCalls(host, Network(config.host, config.public_address, config.ice_servers))


def _recording(config: ServiceConfig) -> Recording | None:
    """Return how telephone calls are recorded; None: they are not."""
    if config.record_calls is None:
        return None
    cipher = read_cipher(os.environ)
    if cipher is None:
        raise ConfigError(f"recordings are encrypted: set {VARIABLE}, such as by `openssl rand -base64 32`")
    return Recording(Recordings(config.record_calls, cipher, config.recording_days), config.recording_announcement)
