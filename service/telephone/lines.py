"""All ways on which telephone calls come to a service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.grpc_server.server_ports import ListenError
from service.telephone.audiosocket import AudioSocketServer
from service.telephone.media_streams import MediaStreams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import BaseRoute

    from service.config import ServiceConfig
    from service.sessions.host import SessionHost


class TelephoneLines:
    """Lines of a service, as its configuration has them.

    Args:
        host: makes the conversations.
        config: of the service.

    Attributes:
        routes: of the HTTP port, on which media streams come.

    Raises:
        ListenError: the agent or the knowledge base that is to answer is not there.
    """

    def __init__(self, host: SessionHost, config: ServiceConfig) -> None:
        agent, knowledge = config.call_agent, config.call_knowledge
        for name, known, kind in ((agent, host.dialogs.agents, "agent"), (knowledge, host.knowledge, "knowledge")):
            if name and name not in known:
                there = f"choose one of {', '.join(sorted(known))}" if known else f"serve one with --{kind}"
                raise ListenError(f"calls cannot be answered: there is no --call-{kind} {name!r}: {there}")
        self._sockets = AudioSocketServer(host, config.host, config.audiosocket_port, agent, knowledge)
        self.routes: Sequence[BaseRoute] = ()
        if config.media_streams:
            self.routes = MediaStreams(host, agent, knowledge).routes

    @property
    def audiosocket_port(self) -> int:
        """Port of AudioSocket; 0 where there is none."""
        return self._sockets.port or 0

    async def open(self) -> None:
        """Listen; see `AudioSocketServer.open`."""
        await self._sockets.open()

    async def leave(self) -> None:
        """Take no more calls."""
        await self._sockets.leave()

    async def close(self) -> None:
        """End all calls."""
        await self._sockets.close()
