"""Routes for tests of the HTTP port without any contract."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from pipelines.errors import InvalidInputError
from service.refusals import TooManyConversationsError
from service.security.principal import Principal, current_principal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

SAID = "a " + "secret sentence"


class OneToken:
    """Knows one token."""

    def find(self, token: str) -> tuple[Principal | None, str]:
        return (Principal("kiosk", "token"), "") if token == "good" else (None, "the token is unknown")


async def whoami(_: Request) -> Response:
    principal = current_principal()
    return JSONResponse({"name": principal.name, "kind": principal.kind})


async def fail(request: Request) -> Response:
    match request.query_params["how"]:
        case "input":
            raise InvalidInputError("audio", "EMPTY_AUDIO", "the recording is empty: send its audio")
        case "full":
            raise TooManyConversationsError(8, 1.4)
        case _:
            raise RuntimeError(SAID)


async def count(request: Request) -> Response:
    size = 0
    async for piece in request.stream():
        size += len(piece)
    return JSONResponse(size)


async def break_off(_: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"begun"
        raise RuntimeError(SAID)

    return StreamingResponse(pieces())


async def echo(websocket: WebSocket) -> None:
    await websocket.accept("realtime" if "realtime" in websocket.scope["subprotocols"] else None)
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            await websocket.send_text(current_principal().name + ":" + await websocket.receive_text())


ROUTES = [
    Route("/whoami", whoami),
    Route("/fail", fail),
    Route("/count", count, methods=["POST"]),
    Route("/broken", break_off),
    WebSocketRoute("/echo", echo),
]
