"""End of a WebSocket, the same whatever is spoken over it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.websockets import WebSocketDisconnect, WebSocketDisconnected
from uvicorn.protocols.utils import ClientDisconnected

from service.api.http.problems import report

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.websockets import WebSocket

GONE = (ClientDisconnect, ClientDisconnected, WebSocketDisconnect, WebSocketDisconnected)
"""Errors that say that nobody is there any more."""
_NORMAL = 1000


@contextlib.asynccontextmanager
async def closing(socket: WebSocket, tell: Callable[[Exception], Awaitable[None]]) -> AsyncIterator[None]:
    """Close a socket after the body; its error is told, and is the code.

    Args:
        socket: accepted.
        tell: tells an error as the caller reads it.
    """
    try:
        yield
    except GONE:
        raise
    except Exception as error:  # noqa: BLE001 - each becomes a problem
        problem = report(error)
        await tell(error)
        await socket.close(problem.close_code, problem.reason)
    else:
        await socket.close(_NORMAL)
