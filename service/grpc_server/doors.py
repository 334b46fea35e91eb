"""gRPC servers: for callers, model administration and long recordings."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from service.grpc_server.admin_socket import default_path, listen_for_admin
from service.grpc_server.caller_check import CallerCheck
from service.grpc_server.deserializers import MAX_RECORDING_BYTES
from service.grpc_server.first_messages import FirstMessages
from service.grpc_server.message_gate import MessageGate
from service.grpc_server.server_ports import defer_silent_connections, listen, raise_file_limit, server_options
from service.security.authentication import Authenticator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grpc_health.v1 import health

    from service.telemetry.call_observer import CallObserver

logger = logging.getLogger(__name__)

_ADMIN_CONNECTIONS = 32
_RECORDING_CONNECTIONS = 256
_RECORDING_SECONDS = 300.0
_PROTECTED_SECONDS = 10.0
_NOTICE_SECONDS = 3.0
"""Time in which balancers hear that the service does not serve any more, and callers why they are refused."""
_NEVER_SECONDS = 7 * 86_400.0
_HEALTH_NAME = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name


class Doors:
    """The servers that run.

    Args:
        host: address to listen on, or ``unix:/path``.
        port: port to listen on; 0 for one that the kernel chooses.
        authenticator: decides who calls; None: everybody may.
        observer: hears of the calls of all servers but that of those who manage models.
        utilization: returns how busy the service is, for reports to balancers; None for no reports.
        credentials: makes what TLS needs, anew for each server; None for no TLS. Those who
            manage models have a socket that is theirs alone.

    Attributes:
        address: what callers on this machine can connect to.
        port: the callers' port; 0 where they come over a Unix socket.
    """

    def __init__(
        self,
        host: str,
        port: int,
        authenticator: Authenticator | None = None,
        credentials: Callable[[], grpc.ServerCredentials] | None = None,
        observer: CallObserver | None = None,
        utilization: Callable[[], float] | None = None,
    ) -> None:
        self.address, self.port = host, port
        self._host = host
        self._check = CallerCheck(authenticator or Authenticator(), observer, utilization)
        self._make_credentials = credentials
        self._servers: list[grpc.aio.Server] = []
        self._admin: grpc.aio.Server | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._connections = raise_file_limit()

    async def open_to_callers(
        self, handlers: Mapping[str, grpc.GenericRpcHandler], health_servicer: health.aio.HealthServicer
    ) -> None:
        """Serve the callers.

        Raises:
            ListenError: it cannot be listened on the address.
        """
        options = server_options(self._connections)
        server = self._server(options, self._check, MessageGate(FirstMessages()))
        _add(server, handlers, health_servicer)
        self.address, self.port = listen(server, self._host, self.port, self._credentials())
        await server.start()
        if self.port:
            defer_silent_connections(self.port)

    async def open_to_recordings(self, handlers: Mapping[str, grpc.GenericRpcHandler], port: int) -> None:
        """Serve those who send long recordings, which are read one at a time.

        A recording that takes more than ten seconds to be read makes place for one that waits, and has five minutes
        where none does.

        Raises:
            ListenError: it cannot be listened on the address.
        """
        one_at_a_time = FirstMessages(limit=1, share=1, protected_seconds=_PROTECTED_SECONDS)
        options = server_options(min(_RECORDING_CONNECTIONS, self._connections), MAX_RECORDING_BYTES)
        server = self._server(options, self._check, MessageGate(one_at_a_time, _RECORDING_SECONDS))
        _add(server, handlers)
        address, port = listen(server, self._host, port, self._credentials())
        await server.start()
        defer_silent_connections(port)
        logger.info("recordings of up to %d MiB: %s", MAX_RECORDING_BYTES >> 20, address)

    async def open_to_admin(
        self,
        handlers: Mapping[str, grpc.GenericRpcHandler],
        path: Path | None,
        health_servicer: health.aio.HealthServicer | None = None,
    ) -> None:
        """Serve those who manage models.

        Args:
            handlers: of the services.
            path: of their socket; None for the default, which the service does without where it cannot be had.
            health_servicer: tells health there too, for probes of this machine that cannot do TLS.

        Raises:
            ListenError: there cannot be a socket at the path that was asked for.
        """
        server = self._admin = self._server(server_options(_ADMIN_CONNECTIONS))
        _add(server, handlers, health_servicer)
        label = Path(self._host).stem if self._host.startswith("unix:") else str(self.port)
        chosen = path or default_path(label)
        try:
            listen_for_admin(server, chosen, makes_folder=path is None)
        except OSError as error:
            if path is not None:
                raise
            logger.warning("models cannot be managed: %s; choose another socket with --admin-socket", error)
            return
        await server.start()
        logger.info("models are managed over %s", chosen)

    async def leave(self, notice_seconds: float = _NOTICE_SECONDS) -> None:
        """Let callers go elsewhere, without waiting for that: calls under way go on.

        After the notice no connection is taken, and clients are asked to make another one (GOAWAY): behind a balancer
        of connections they would be refused here again and again.
        """
        self._leaving = asyncio.create_task(self._leave(notice_seconds), name="leaving")

    async def _leave(self, notice_seconds: float) -> None:
        await asyncio.sleep(notice_seconds)
        callers = [server for server in self._servers if server is not self._admin]
        await asyncio.gather(*(server.stop(grace=_NEVER_SECONDS) for server in callers))

    async def close(self) -> None:
        """Stop the servers; calls under way have a second to end."""
        for server in reversed(self._servers):
            await server.stop(grace=1.0)
        if self._leaving is not None:
            self._leaving.cancel()
            await asyncio.wait((self._leaving,))

    def _credentials(self) -> grpc.ServerCredentials | None:
        return self._make_credentials() if self._make_credentials is not None else None

    def _server(self, options: list[tuple[str, int]], *interceptors: grpc.aio.ServerInterceptor) -> grpc.aio.Server:
        server = grpc.aio.server(options=options, interceptors=interceptors)
        self._servers.append(server)
        return server


def _add(
    server: grpc.aio.Server,
    handlers: Mapping[str, grpc.GenericRpcHandler],
    health_servicer: health.aio.HealthServicer | None = None,
) -> None:
    """Add services, health where it is told, and reflection of what is there."""
    names = [*handlers, reflection.SERVICE_NAME]
    server.add_generic_rpc_handlers(tuple(handlers.values()))
    if health_servicer is not None:
        health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
        names.append(_HEALTH_NAME)
    reflection.enable_server_reflection(names, server)
