"""``GET /v1/models``: the models that callers may name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from pipelines.models.contracts import ASR, TTS
from service.api.http.openai.names import CONVERSATION_MODEL, unknown_model

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from service.sessions.host import SessionHost


class ModelsEndpoint:
    """Tells which models there are.

    Args:
        host: knows the engines that serve.
    """

    def __init__(self, host: SessionHost) -> None:
        self._names = (CONVERSATION_MODEL, ASR, TTS, *host.engines.variants(ASR))

    async def list(self, _: Request) -> Response:
        """List all models."""
        return JSONResponse({"object": "list", "data": [_model(name) for name in self._names]})

    async def one(self, request: Request) -> Response:
        """Tell of one model.

        Raises:
            InvalidInputError: there is none of that name.
        """
        name = request.path_params["name"]
        if name not in self._names:
            raise unknown_model(name, self._names, "model")
        return JSONResponse(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "vivavoce"}
