"""Health over HTTP: whether the process lives, and whether it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse
from starlette.routing import Route

from service.api.http.problems import problem_of
from service.refusals import NotReadyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

OPEN_PATHS = frozenset(("/healthz", "/readyz"))
"""Answered without proof: orchestrators ask for health, and cannot send a token."""


def health_routes(is_ready: Callable[[], bool]) -> Sequence[BaseRoute]:
    """Return the routes of health.

    Args:
        is_ready: returns whether callers are served.
    """

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        if not is_ready():
            # Probes ask all the time: nothing is logged or counted.
            return problem_of(NotReadyError("the models are not ready: try again soon")).response()
        return PlainTextResponse("ok\n")

    return (Route("/healthz", alive, methods=["GET"]), Route("/readyz", ready, methods=["GET"]))
