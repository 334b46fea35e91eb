"""The server of the HTTP port, in the event loop of the gRPC servers."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.server import ServerState

from service.addresses import AddressInUseError, ListenError
from service.api.http.connection_shares import ConnectionShares
from service.api.http.connections import (
    KEEP_ALIVE_SECONDS,
    MAX_HEADER_BYTES,
    MAX_MESSAGE_BYTES,
    HttpConnection,
    WebSocketConnection,
)
from service.grpc_server.server_ports import raise_file_limit

if TYPE_CHECKING:
    import ssl

    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 4_096
_BACKLOG = 512
_HANDSHAKE_SECONDS = 10.0
_SILENT_SECONDS = 60
_PING_SECONDS = 20.0
_PONG_SECONDS = 10.0
_STOP_SECONDS = 1.0


class HttpServer:
    """A server that runs between :meth:`open` and :meth:`close`.

    Args:
        app: answers the calls.
        host: address to listen on; the loopback where the service listens on a Unix socket.
        port: port to listen on; 0 for one that the kernel chooses; None: nothing is opened.
        tls: context of TLS; None for no TLS.

    Attributes:
        url: what callers on this machine can connect to; "" while it is not open.
        port: the port.
    """

    def __init__(self, app: ASGIApp, host: str, port: int | None, tls: ssl.SSLContext | None = None) -> None:
        # What uvicorn logs quotes what callers send, and errors are reported by the check of callers already.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self._config = uvicorn.Config(
            app,
            http=HttpConnection,
            ws=WebSocketConnection,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_ping_interval=_PING_SECONDS,
            ws_ping_timeout=_PONG_SECONDS,
            # A few hundred kilobytes of it become a gigabyte.
            ws_per_message_deflate=False,
        )
        self._config.load()
        self._state = ServerState()
        self._host = "127.0.0.1" if host.startswith("unix:") else host.strip("[]")
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._shares = ConnectionShares(min(MAX_CONNECTIONS, raise_file_limit() // 4))
        self.port = port
        self.url = ""

    async def open(self) -> None:
        """Serve callers.

        Raises:
            ListenError: it cannot be listened on the address.
        """
        if self.port is None:
            return
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: HttpConnection(self._config, self._state, {}, self._shares),
                self._host,
                self.port,
                ssl=self._tls,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS if self._tls else None,
                backlog=_BACKLOG,
            )
        except socket.gaierror as error:
            message = f"there is no host {self._host!r}: give --host a name or an address of this machine"
            raise ListenError(message) from error
        except OSError as error:
            address = f"{self._host}:{self.port}"
            if error.errno == errno.EADDRINUSE:
                message = f"cannot listen on {address}: choose another --http-port, or stop what listens there"
                raise AddressInUseError(message) from error
            reason = os.strerror(error.errno) if error.errno else "unknown"
            raise ListenError(f"cannot listen on {address} ({reason}): choose another --http-port") from error
        for listening in self._server.sockets:
            with contextlib.suppress(AttributeError, OSError):
                # The kernel keeps connections on which nothing was said yet, instead of a file of ours each.
                listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _SILENT_SECONDS)
        self.port = self._server.sockets[0].getsockname()[1]
        name = f"[{self._host}]" if ":" in self._host else self._host
        self.url = f"{'https' if self._tls else 'http'}://{name}:{self.port}"
        logger.info("HTTP and WebSockets: %s", self.url)

    async def close(self) -> None:
        """Take no more calls; those under way have a second to end."""
        if self._server is None:
            return
        self._server.close()
        for connection in tuple(self._state.connections):
            connection.shutdown()
        tasks = tuple(self._state.tasks)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_STOP_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for connection in tuple(self._state.connections):
            with contextlib.suppress(OSError):
                connection.transport.abort()
        await self._server.wait_closed()
