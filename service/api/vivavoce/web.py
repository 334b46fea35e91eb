"""``vivavoce.v1`` over HTTP: ``WS /v1/converse`` and ``POST /v1/ask``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocketDisconnect

from service.api.http.json_reading import whole_body
from service.api.http.problems import problem_of
from service.api.http.web_sockets import closing
from service.api.vivavoce.conversation_stream import answer, hold_conversation
from service.api.vivavoce.web_messages import to_ask_request, to_frames, to_json, to_request
from service.grpc_server.deserializers import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.websockets import WebSocket

    from service.sessions.host import SessionHost
    from vivavoce.v1 import conversation_pb2 as pb

SUBPROTOCOL = "vivavoce.v1"

_UNEXPECTED = 1011


class WebConversations:
    """Holds conversations over WebSockets, and answers typed turns.

    Args:
        host: makes the conversations.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def converse(self, socket: WebSocket) -> None:
        """Hold one conversation.

        An error is told as ``{"error": {…}}``, with the members of a problem (RFC 9457), before the socket is closed.
        """
        await socket.accept(SUBPROTOCOL if SUBPROTOCOL in socket.scope.get("subprotocols", ()) else None)

        async def write(response: pb.ConverseResponse) -> None:
            text, audio = to_frames(response)
            await socket.send_text(text)
            if audio is not None:
                await socket.send_bytes(audio)

        async def tell(error: Exception) -> None:
            await socket.send_text(json.dumps({"error": problem_of(error).members()}))

        async with closing(socket, tell):
            await hold_conversation(self._host, _requests(socket), write)

    async def agents(self, _: Request) -> Response:
        """Tell by which names agents are chosen."""
        return JSONResponse({"agents": sorted(self._host.dialogs.agents)})

    async def ask(self, request: Request) -> Response:
        """Answer one typed turn."""
        self._host.admission.check()
        body = await whole_body(request, MAX_MESSAGE_BYTES)
        reply = await answer(self._host, await to_ask_request(body))
        return Response(to_json(reply), media_type="application/json")


async def _requests(socket: WebSocket) -> AsyncIterator[pb.ConverseRequest]:
    """Yield what the caller sends until nothing more will come.

    Raises:
        InvalidInputError: a frame is no request.
        MessageTooLargeError: one is too long.
        WebSocketDisconnect: the caller has left.
    """
    while True:
        frame = await socket.receive()
        if frame["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(frame.get("code", _UNEXPECTED))
        request = await to_request(frame)
        if request is None:
            return
        yield request
