"""``POST /v1/realtime/calls``: sessions over WebRTC."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

from python_multipart.multipart import parse_options_header
from starlette.responses import Response
from starlette.routing import Route

from pipelines.errors import InvalidInputError, ReportedError
from service.api.http.caller_check import headers_of
from service.api.http.json_reading import whole_body
from service.api.http.openai.bodies import MAX_BODY_BYTES, read_object
from service.api.http.openai.realtime.client_events import AppendAudio, BadEventError, read_event
from service.api.http.openai.realtime.endpoint import PATH, first_session
from service.api.http.openai.realtime.sending import EventSender
from service.api.http.openai.realtime.session import RealtimeSession
from service.api.http.openai.realtime.session_form import DOCUMENTS, merged
from service.api.http.openai.realtime.settings import to_settings
from service.api.http.openai.realtime.transport import Tracks
from service.api.http.openai.uploads import Field, UnsupportedMediaTypeError, form_parts
from service.api.http.problems import report
from service.security.principal import current_principal
from service.security.withdrawal import ended_when_withdrawn
from service.telemetry.call_observer import current_call_observer
from service.webrtc.peer import Peer
from service.webrtc.tracks import HEARD, SPOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from service.api.http.openai.realtime.client_events import ClientEvent
    from service.api.http.openai.realtime.session_form import Session
    from service.sessions.host import SessionHost
    from service.webrtc.network import Network

CALLS = f"{PATH}/calls"
_SDP = "application/sdp"


class WebRtcTransport:
    """A client over WebRTC; see `Transport`.

    Args:
        peer: the client.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.tracks: Tracks | None = Tracks(HEARD, SPOKEN, peer.speech)
        self.send = peer.send

    async def receive(self) -> ClientEvent | None:
        """Return the next event; audio comes as one too."""
        came = await self._peer.receive()
        if came is None:
            return None
        if isinstance(came, bytes):
            return AppendAudio(audio=came)
        event = await read_event(came)
        if isinstance(event, AppendAudio):
            message = "audio comes on the track of this connection: do not append it"
            raise BadEventError("type", "UNSUPPORTED_EVENT", message, event.event_id)
        return event


class RealtimeCalls:
    """Answers offers, and holds the sessions that come of them.

    Args:
        host: makes the conversations.
        network: is listened on.

    Attributes:
        routes: of the HTTP port.
    """

    def __init__(self, host: SessionHost, network: Network) -> None:
        self._host, self._network = host, network
        self._calls: dict[tuple[str, object], asyncio.Task[None]] = {}
        self.routes: Sequence[BaseRoute] = (
            Route(CALLS, self.create, methods=["POST"]),
            # Where the beta had it.
            Route(PATH, self.create, methods=["POST"]),
            Route(f"{CALLS}/{{call_id}}/hangup", self.hang_up, methods=["POST"]),
        )

    async def create(self, request: Request) -> Response:
        """Answer an offer."""
        host = self._host
        host.admission.check()
        offer, changes = await _asked(request)
        session = first_session(host, request.query_params, headers_of(request.scope))
        if changes:
            session = merged(session, changes)
        to_settings(session, host)
        name = f"rtc_{secrets.token_hex(16)}"
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._hold(offer, session, answered), name="call over WebRTC")
        key = (name, current_principal().key)
        self._calls[key] = task
        task.add_done_callback(lambda done: (self._calls.pop(key), done.cancelled() or done.exception()))
        try:
            await asyncio.wait((task, answered), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not answered.done():
            await task
        return Response(answered.result(), 201, {"Location": f"{CALLS}/{name}"}, _SDP)

    async def hang_up(self, request: Request) -> Response:
        """End a call of the same principal's."""
        task = self._calls.get((request.path_params["call_id"], current_principal().key))
        if task is None:
            message = "there is no such call, or it has ended: send the id of its Location"
            raise InvalidInputError("call_id", "NOT_FOUND", message)
        task.cancel()
        return Response()

    async def close(self) -> None:
        """End all calls."""
        tasks = tuple(self._calls.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _hold(self, offer: str, session: Session, answered: asyncio.Future[str]) -> None:
        observer, principal = current_call_observer(), current_principal()
        peer = Peer(self._network)
        with observer.serving(f"WEBRTC {CALLS}", {}), self._host.admission.conversation():
            async with peer.answering(offer) as answer:
                answered.set_result(answer)
                transport = WebRtcTransport(peer)
                sender = EventSender(transport.send)
                try:
                    async with ended_when_withdrawn(principal):
                        await peer.connected()
                        await RealtimeSession(self._host, sender, transport, session).run()
                except Exception as error:  # noqa: BLE001 - nobody else hears of it: the request was answered
                    report(error)
                    if isinstance(error, ReportedError):
                        await sender.error(error)


async def _asked(request: Request) -> tuple[str, dict[str, Any]]:
    """Read an offer, alone or in a form beside a session.

    Raises:
        InvalidInputError: there is none.
        MessageTooLargeError: it is too long.
        UnsupportedMediaTypeError: the body is something else.
    """
    media = parse_options_header(request.headers.get("content-type"))[0].decode("latin-1").lower()
    if media == _SDP:
        return (await whole_body(request, MAX_BODY_BYTES)).decode("utf-8", "replace"), {}
    if media != "multipart/form-data":
        raise UnsupportedMediaTypeError(f"the body is no offer: send {_SDP}, or a form with sdp and session")
    fields: dict[str, str] = {}
    async for part in form_parts(request.headers, request.receive, has_file=False):
        if not isinstance(part, Field) or part.name not in {"sdp", "session"} or part.name in fields:
            raise InvalidInputError("body", "UNKNOWN_FIELD", "the form has another field: send sdp and session, once")
        fields[part.name] = part.value
    if "sdp" not in fields:
        raise InvalidInputError("sdp", "NO_OFFER", "the form has no offer: send it in the field `sdp`")
    return fields["sdp"], await read_object(fields.get("session", "{}"), dict[str, Any], *DOCUMENTS)
