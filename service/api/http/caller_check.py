"""ASGI middleware: authentication before the body, errors as problems."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers

from pipelines.session.outbox import SlowReaderError
from service.api.http.problems import SlowUploadError, problem_of, report
from service.api.http.web_sockets import GONE
from service.security.principal import acting_for
from service.security.withdrawal import ended_when_withdrawn
from service.telemetry.call_observer import CallObserver, telling

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from service.api.http.origins import OriginPolicy
    from service.security.principal import Principal

    Authenticate = Callable[[str, Mapping[str, str], str | None], Principal]
    """Returns the principal of a call of a path, with these headers, and with this name in its certificate."""

READ_SECONDS = 20.0
"""Of a body nothing may be missing for so long."""
WRITE_SECONDS = 20.0
"""A response that is not read for so long is given up."""
_LINGER_SECONDS = 2.0
_MIN_BYTES_A_SECOND = 250
"""Of a body, over all of its time: half of what the poorest speech needs."""
_GRACE_SECONDS = 30.0

TOKEN_SUBPROTOCOLS = ("vivavoce-token.", "openai-insecure-api-key.", "realtime-token.")
"""Before a token in ``Sec-WebSocket-Protocol``: pages can set no other header of a WebSocket."""


class CallerCheck:
    """Serves a call for its principal once the caller has proved who he is.

    Args:
        app: serves it.
        known_paths: paths of routes, as traces name them.
        open_paths: paths that are answered without proof.
        authenticate: returns the principal of a call.
        origins: decides which pages may call.
        observer: hears of the calls.
    """

    def __init__(
        self,
        app: ASGIApp,
        known_paths: Collection[str],
        open_paths: Collection[str],
        authenticate: Authenticate,
        origins: OriginPolicy,
        observer: CallObserver | None = None,
    ) -> None:
        self._app = app
        self._known_paths = frozenset(known_paths)
        self._open_paths = frozenset(open_paths)
        self._authenticate = authenticate
        self._origins = origins
        self._observer = observer or CallObserver()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call; see ASGI."""
        headers = headers_of(scope)
        method = scope.get("method", "WEBSOCKET")
        # Paths are the caller's own words: only those of routes become names of spans.
        name = f"{method} {scope['path'] if scope['path'] in self._known_paths else '(another path)'}"
        call = _Call(scope, receive, send)
        with telling(self._observer), self._observer.serving(name, headers):
            try:
                self._origins.check(headers)
                if scope["path"] in self._open_paths and scope["type"] == "http":
                    await self._app(scope, call.receive, call.send)
                    return
                self._origins.check_host(headers)
                principal = self._authenticate(scope["path"], headers, scope.get("state", {}).get("certificate_name"))
            except Exception as error:  # noqa: BLE001 - each becomes a problem
                await call.refuse(error)
                return
            with acting_for(principal):
                try:
                    async with ended_when_withdrawn(principal):
                        await self._app(scope, call.receive, call.send)
                except GONE:
                    return
                except Exception as error:  # noqa: BLE001 - each becomes a problem
                    await call.refuse(error)


def headers_of(scope: Scope) -> dict[str, str]:
    """Return a call's headers in lower case, each with its first value."""
    found: dict[str, str] = {}
    for key, value in Headers(scope=scope).items():
        found.setdefault(key, value)
    for protocol in scope.get("subprotocols", ()):
        for prefix in TOKEN_SUBPROTOCOLS:
            if protocol.startswith(prefix):
                found.setdefault("authorization", f"Bearer {protocol.removeprefix(prefix)}")
    return found


class _Call:
    """One call: what came of its body, and how far its response has got."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._is_websocket = scope["type"] == "websocket"
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._waited, self._received = 0.0, 0
        self._read_whole = not self._is_websocket and not _has_body(scope)
        self._has_begun = self._is_over = False

    async def receive(self) -> Message:
        """Wait for the next message; for one of a body no longer than is reasonable.

        Raises:
            SlowUploadError: the body comes too slowly.
        """
        if self._is_websocket or self._read_whole:
            return await self._receive()
        asked = self._loop.time()
        try:
            async with asyncio.timeout(READ_SECONDS):
                message = await self._receive()
        except TimeoutError:
            raise SlowUploadError(READ_SECONDS) from None
        # The time in which the recognizer was busy is not the caller's.
        self._waited += self._loop.time() - asked
        self._received += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            self._read_whole = True
        elif self._waited > _GRACE_SECONDS and self._received < self._waited * _MIN_BYTES_A_SECOND:
            raise SlowUploadError(_GRACE_SECONDS)
        return message

    async def send(self, message: Message) -> None:
        """Write a message of the response.

        Raises:
            SlowReaderError: the caller does not read.
        """
        kind = message["type"]
        if kind in {"http.response.start", "websocket.accept", "websocket.http.response.start"}:
            self._has_begun = True
        if kind == "http.response.start" and not self._read_whole:
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        if kind == "http.response.body" and not message.get("more_body", False):
            self._is_over = True
        if kind == "websocket.close":
            self._is_over = True
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self._send(message)
        except TimeoutError:
            raise SlowReaderError(f"no response was read for {WRITE_SECONDS:g} s: read them as they come") from None

    async def refuse(self, error: Exception) -> None:
        """End the call with an error."""
        response = report(error).response()
        if self._is_over:
            return
        if self._has_begun:
            await self._break_off(error)
            return
        prefix = "websocket.http.response" if self._is_websocket else "http.response"
        start: dict[str, Any] = {"type": f"{prefix}.start", "status": response.status_code}
        if self._is_websocket:
            await self._receive()
        await self.send({**start, "headers": response.raw_headers})
        if not self._read_whole and not self._is_websocket:
            await self.send({"type": f"{prefix}.body", "body": response.body, "more_body": True})
            await self._linger()
            await self.send({"type": f"{prefix}.body", "body": b""})
        else:
            await self.send({"type": f"{prefix}.body", "body": response.body})

    async def _linger(self) -> None:
        """Read on for a moment: closing upon unread bytes would lose the response."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while not self._read_whole:
                    message = await self._receive()
                    self._read_whole = message["type"] != "http.request" or not message.get("more_body", False)

    async def _break_off(self, error: Exception) -> None:
        """End a response that has begun, so that it cannot be taken for a whole one."""
        if not self._is_websocket:
            # uvicorn closes the connection of an application that raises, without the end of the body.
            raise BrokenOffError from error
        with contextlib.suppress(Exception):
            problem = problem_of(error)
            await self.send({"type": "websocket.close", "code": problem.close_code, "reason": problem.reason})


def _has_body(scope: Scope) -> bool:
    return any(name in {b"content-length", b"transfer-encoding"} for name, _ in scope["headers"])


class BrokenOffError(Exception):
    """A response could not be finished; it was reported already."""
