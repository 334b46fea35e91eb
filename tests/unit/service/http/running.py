"""An HTTP port on a real socket, with routes of the test's own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import aiohttp

from service.api.http.application import application
from service.api.http.origins import OriginPolicy
from service.api.http.server import HttpServer
from service.security.authentication import Authenticator

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping, Sequence

    from starlette.routing import BaseRoute

    from service.security.principal import Principal
    from service.telemetry.call_observer import CallObserver


@contextlib.asynccontextmanager
async def running(
    routes: Sequence[BaseRoute],
    authenticator: Authenticator | None = None,
    allowed_origins: Sequence[str] = (),
    observer: CallObserver | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[HttpServer]:
    callers = authenticator or Authenticator()

    def authenticate(headers: Mapping[str, str], certificate_name: str | None) -> Principal:
        return callers.authenticate(headers.get("authorization"), certificate_name)

    origins = OriginPolicy(allowed_origins, trusts_hosts=callers.required)
    app = application(routes, authenticate, origins, allowed_origins, observer)
    server = HttpServer(app, "127.0.0.1", 0, tls)
    await server.open()
    try:
        yield server
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def client(server: HttpServer, **options: object) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url, timeout=aiohttp.ClientTimeout(total=20), **options) as session:
        yield session
