"""ASGI application: routes of all contracts behind the check of callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route, Router, WebSocketRoute

from service.api.http.caller_check import CallerCheck
from service.api.http.health import OPEN_PATHS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from service.api.http.caller_check import Authenticate
    from service.api.http.origins import OriginPolicy
    from service.telemetry.call_observer import CallObserver

_EXPOSED = ("Retry-After", "Location")
_PREFLIGHT_SECONDS = 600


def application(
    routes: Sequence[BaseRoute],
    authenticate: Authenticate,
    origins: OriginPolicy,
    allowed_origins: Collection[str] = (),
    observer: CallObserver | None = None,
    open_paths: Collection[str] = OPEN_PATHS,
) -> ASGIApp:
    """Return the application.

    Args:
        routes: of all contracts.
        authenticate: decides who calls.
        origins: decides which pages may call.
        allowed_origins: origins of other servers whose pages may call and read responses; ``*`` for all.
        observer: hears of calls.
        open_paths: paths that are answered without proof of the caller.
    """
    known_paths = {route.path for route in routes if isinstance(route, Route | WebSocketRoute)}
    app: ASGIApp = CallerCheck(_Routes(routes), known_paths, open_paths, authenticate, origins, observer)
    if allowed_origins:
        app = CORSMiddleware(
            app,
            allow_origins=tuple(allowed_origins),
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            expose_headers=_EXPOSED,
            max_age=_PREFLIGHT_SECONDS,
        )
    return app


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - see ASGI
    raise HTTPException(404)


class _Routes:
    """Routes as one application, whose errors are raised."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._router = Router(routes, redirect_slashes=False, default=_not_found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        scope["app"] = self  # Starlette raises a 405 then, and does not write it.
        await self._router(scope, receive, send)
