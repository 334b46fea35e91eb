"""The APIs that the service answers: each brings handlers of gRPC, or routes of HTTP, over one session host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from service.api.http.openai.routes import OpenAiApi
from service.api.riva.handlers import RivaApi
from service.api.vivavoce.handlers import VivavoceApi

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import grpc
    from starlette.routing import BaseRoute

    from service.sessions.host import SessionHost


class Api(Protocol):
    """The handlers and routes of one contract. A subclass names those that it has: all have a default."""

    @property
    def handlers(self) -> Mapping[str, grpc.GenericRpcHandler]:
        """Handlers for callers, by the full name of their service. Health is told for each name."""
        return {}

    @property
    def recording_handlers(self) -> Mapping[str, grpc.GenericRpcHandler]:
        """Handlers for the port of long recordings, by the full name of their service; empty where there are none."""
        return {}

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Routes of the HTTP port; empty where there are none."""
        return ()


SHIPPED_APIS: Sequence[Callable[[SessionHost], Api]] = (VivavoceApi, RivaApi, OpenAiApi)
