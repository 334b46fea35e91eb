"""Registry of APIs: gRPC handlers or HTTP routes over one session host."""

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
    """Handlers and routes of one contract; all have a default."""

    @property
    def handlers(self) -> Mapping[str, grpc.GenericRpcHandler]:
        """Handlers for callers, by service name, for which health is reported."""
        return {}

    @property
    def recording_handlers(self) -> Mapping[str, grpc.GenericRpcHandler]:
        """Handlers for the port of long recordings, by service name."""
        return {}

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Routes of the HTTP port; empty where there are none."""
        return ()


SHIPPED_APIS: Sequence[Callable[[SessionHost], Api]] = (VivavoceApi, RivaApi, OpenAiApi)
