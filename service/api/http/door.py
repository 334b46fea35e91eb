"""HTTP port of a service: routes of all APIs behind one check of callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.addresses import is_local
from service.api.http.application import application
from service.api.http.health import OPEN_PATHS, health_routes
from service.api.http.origins import OriginPolicy
from service.api.http.page import PAGE_PATHS, page_routes
from service.api.http.server import HttpServer
from service.security.client_secrets import PREFIX
from service.security.tls import server_context
from service.telephone.media_streams import PATH as MEDIA_STREAMS
from service.telephone.media_streams import StreamSignature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.routing import BaseRoute

    from service.api.registry import Api
    from service.config import ServiceConfig
    from service.security.authentication import Authenticator
    from service.security.client_secrets import ClientSecrets
    from service.security.principal import Principal
    from service.telemetry.call_observer import CallObserver

SECRET_PATHS = frozenset(("/v1/realtime", "/v1/realtime/calls", "/v1/converse"))
"""What short-lived secrets open."""


def http_server(
    config: ServiceConfig,
    apis: Sequence[Api],
    is_ready: Callable[[], bool],
    callers: Authenticator,
    observer: CallObserver,
    secrets: ClientSecrets,
    calls: Sequence[BaseRoute] = (),
) -> HttpServer:
    """Return a server of the routes of all APIs, which is still to be opened.

    Args:
        config: of the service.
        apis: bring the routes.
        is_ready: returns whether callers are served.
        callers: decides who calls.
        observer: hears of calls.
        secrets: short-lived secrets of callers.
        calls: routes on which calls come, of telephones and of WebRTC.

    Raises:
        OSError: a file of TLS cannot be read.
        UnusableFileError: one cannot be used.
    """
    routes = [*health_routes(is_ready), *page_routes(), *calls, *(route for api in apis for route in api.routes)]
    signature = None
    if config.media_streams and config.media_streams_key:
        signature = StreamSignature(config.media_streams, config.media_streams_key, config.limits)
    known = (*config.http_origins, *([_origin(config.media_streams)] if config.media_streams else ()))
    origins = OriginPolicy(known, trusts_hosts=callers.required, is_local=is_local(config.host))

    def authenticate(path: str, headers: Mapping[str, str], certificate_name: str | None) -> Principal:
        if path == MEDIA_STREAMS and signature is not None:
            return signature.check(headers)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if path in SECRET_PATHS and scheme.lower() == "bearer" and token.startswith(PREFIX):
            return secrets.find(token.strip()).principal
        return callers.authenticate(headers.get("authorization"), certificate_name)

    app = application(routes, authenticate, origins, config.http_origins, observer, OPEN_PATHS | PAGE_PATHS)
    return HttpServer(app, config.host, config.http_port, server_context(config.tls) if config.tls else None)


def _origin(url: str) -> str:
    """Return the origin of a WebSocket's URL."""
    return f"http{url.removeprefix('ws').rpartition('/v1/')[0]}"
