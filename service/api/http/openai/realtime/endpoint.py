"""``WS /v1/realtime``, and the requests for secrets and sessions beside it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import JSONResponse

from pipelines.errors import InvalidInputError
from service.api.http.caller_check import headers_of
from service.api.http.nvidia.dialect import NvidiaDialect, normalized
from service.api.http.nvidia.synthesis import INTENT, SynthesisSession
from service.api.http.openai.bodies import json_body
from service.api.http.openai.names import check_conversation_model
from service.api.http.openai.realtime.dialects import BetaDialect, Dialect
from service.api.http.openai.realtime.sending import EventSender, new_id
from service.api.http.openai.realtime.session import RealtimeSession
from service.api.http.openai.realtime.session_form import (
    DOCUMENTS,
    REALTIME,
    TRANSCRIPTION,
    default_session,
    merged,
    to_beta,
)
from service.api.http.openai.realtime.settings import to_settings
from service.api.http.openai.realtime.transport import WebSocketTransport
from service.api.http.web_sockets import closing
from service.security.client_secrets import DEFAULT_SECONDS, MAX_SECONDS, MIN_SECONDS, PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

    from service.api.http.openai.realtime.session_form import Session
    from service.sessions.host import SessionHost

PATH = "/v1/realtime"
SUBPROTOCOL = "realtime"


class _ExpiresAfter(msgspec.Struct, frozen=True):
    seconds: int = DEFAULT_SECONDS
    anchor: str = "created_at"


class _SecretRequest(msgspec.Struct, frozen=True):
    expires_after: _ExpiresAfter | None = None
    session: dict[str, Any] | None = None


class RealtimeEndpoint:
    """Serves sessions.

    Args:
        host: makes the conversations; a session takes the place of one as long as it is open.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def serve(self, websocket: WebSocket) -> None:
        """Hold one session."""
        host = self._host
        host.admission.check()
        headers = headers_of(websocket.scope)
        session = first_session(host, websocket.query_params, headers)
        to_settings(session, host)
        with host.admission.conversation():
            offered = websocket.scope.get("subprotocols", ())
            await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
            dialect = BetaDialect() if "realtime=v1" in headers.get("openai-beta", "") else Dialect()
            transport = WebSocketTransport(websocket)
            sender = EventSender(transport.send, dialect)
            async with closing(websocket, sender.error):
                if websocket.query_params.get("intent") == INTENT:
                    sender.dialect = NvidiaDialect()
                    await SynthesisSession(host, sender, transport.receive_text).run()
                else:
                    await RealtimeSession(host, sender, transport, session).run()

    async def make_secret(self, request: Request) -> Response:
        """Make a secret for a page or another program that must not hold a token."""
        self._host.admission.check()
        asked = await json_body(request, _SecretRequest, "session", *DOCUMENTS)
        seconds = (asked.expires_after or _ExpiresAfter()).seconds
        if not MIN_SECONDS <= seconds <= MAX_SECONDS:
            message = f"a secret lasts {MIN_SECONDS} to {MAX_SECONDS:,} s: choose such a time"
            raise InvalidInputError("expires_after.seconds", "INVALID_VALUE", message)
        changes = asked.session or {}
        kind = TRANSCRIPTION if changes.get("type") == TRANSCRIPTION else REALTIME
        session = merged(default_session(kind, new_id("sess")), changes)
        to_settings(session, self._host)
        value, secret = self._host.client_secrets.make(seconds, session)
        return JSONResponse({"value": value, "expires_at": int(secret.expires), "session": session})

    async def make_session(self, request: Request) -> Response:
        """Return a new session with a client secret, for the beta and NVIDIA's client."""
        self._host.admission.check()
        changes = await json_body(request, dict[str, Any], *DOCUMENTS)
        kind = TRANSCRIPTION if request.url.path.endswith("transcription_sessions") else REALTIME
        session = merged(default_session(kind, new_id("sess")), normalized(changes))
        to_settings(session, self._host)
        value, secret = self._host.client_secrets.make(DEFAULT_SECONDS, session)
        found = to_beta(session)
        if kind == TRANSCRIPTION:
            found |= {"input_audio_params": {"sample_rate_hz": 16_000, "num_channels": 1}, "recognition_config": {}}
        return JSONResponse({**found, "client_secret": {"value": value, "expires_at": int(secret.expires)}})


def first_session(host: SessionHost, query: Mapping[str, str], headers: Mapping[str, str]) -> Session:
    """Return how a session begins: as its secret says, or as is usual."""
    identifier = new_id("sess")
    token = headers.get("authorization", "").partition(" ")[2].strip()
    if token.startswith(PREFIX):
        return {**host.client_secrets.find(token).session, "id": identifier}
    session = default_session(TRANSCRIPTION if query.get("intent") == TRANSCRIPTION else REALTIME, identifier)
    if model := query.get("model"):
        check_conversation_model(model)
        if session["type"] == REALTIME:
            session["model"] = model
    session["expires_at"] = int(time.time() + host.limits.longest_seconds)
    return session
