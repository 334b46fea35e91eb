"""Media streams over WebSocket, as Twilio and Telnyx send the sound of calls.

Messages are JSON objects with an `event`: `start`, `media` with base64, `dtmf`, `mark`, `stop`; ours are `media` and
`clear`. Specifications: https://www.twilio.com/docs/voice/media-streams/websocket-messages and
https://developers.telnyx.com/docs/voice/programmable-voice/media-streaming
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import dataclasses
import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocketDisconnect

from pipelines.audio.formats import Encoding
from pipelines.errors import InvalidInputError
from service.security.authentication import UnauthenticatedError
from service.security.principal import Principal
from service.security.watched_file import UnusableFileError
from service.telephone.call import Call, Keys, Line, Sound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from starlette.websockets import WebSocket

    from service.security.principal import PrincipalLimits
    from service.sessions.host import SessionHost
    from service.telephone.recordings import Recording

PATH = "/v1/media-streams"
SIGNATURE = "x-twilio-signature"
_ENCODINGS = {
    "audio/x-mulaw": (Encoding.MULAW, 1),
    "pcmu": (Encoding.MULAW, 1),
    "audio/x-alaw": (Encoding.ALAW, 1),
    "pcma": (Encoding.ALAW, 1),
    "audio/x-l16": (Encoding.LINEAR_PCM, 2),
    "l16": (Encoding.LINEAR_PCM, 2),
}
"""Encodings by the names that Twilio and Telnyx give them, and bytes of a sample."""
_AGENT, _CALLER = "agent", "caller"
_NORMAL = 1000


class MediaStreamSwitch:
    """The telephone company behind one WebSocket.

    Args:
        socket: accepted.

    Attributes:
        is_over: whether the company has left.
        line: how the call sounds, once `begin` has read it.
        name: its name for the call.
        parameters: what its start tells: its custom parameters, and the caller's number as `caller`.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._stream: dict[str, str] = {}
        self.is_over = False
        self.line = Line(Encoding.MULAW, bytes_per_sample=1)
        self.name = ""
        self.parameters: dict[str, str] = {}

    async def begin(self) -> None:
        """Read up to the start of the stream.

        Raises:
            InvalidInputError: another message comes first, or the sound is of a kind that is not served.
        """
        async for message in self._messages():
            if message.get("event") == "start":
                self._read_start(message)
                return
            if message.get("event") != "connected":
                raise _bad(f"{message.get('event')!r} came before the start of the stream: send start first")

    async def events(self) -> AsyncIterator[Sound | Keys]:
        """Yield what comes of the caller; see `Switch`.

        Raises:
            InvalidInputError: a message is none of a media stream.
        """
        async for message in self._messages():
            match message.get("event"):
                case "media":
                    yield Sound(_audio(message))
                case "dtmf":
                    key = _part(message, "dtmf").get("digit")
                    if isinstance(key, str) and len(key) == 1 and key in "0123456789*#ABCD":
                        yield Keys(key)
                case "stop":
                    return
                case "start":
                    raise _bad("a second start came: open another stream for another call")

    async def play(self, frame: bytes) -> None:
        """Send 20 ms of speech; see `Switch`."""
        await self._send({"event": "media", "media": {"payload": base64.b64encode(frame).decode()}})

    async def clear(self) -> None:
        """Have speech thrown away that was not played; see `Switch`."""
        await self._send({"event": "clear"})

    async def _send(self, message: dict[str, Any]) -> None:
        # The end of the connection is told by its other side.
        if not self.is_over:
            with contextlib.suppress(WebSocketDisconnect):
                await self._socket.send_text(json.dumps({**message, **self._stream}))

    async def _messages(self) -> AsyncIterator[dict[str, Any]]:
        while True:
            frame = await self._socket.receive()
            if frame["type"] == "websocket.disconnect":
                self.is_over = True
                return
            try:
                message = msgspec.json.decode(frame.get("text") or frame.get("bytes") or b"")
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                raise _bad("a frame is no JSON: send the messages of a media stream") from None
            if not isinstance(message, dict):
                raise _bad("a frame is no JSON object: send the messages of a media stream")
            yield message

    def _read_start(self, message: Mapping[str, Any]) -> None:
        start = _part(message, "start")
        for key in ("streamSid", "stream_id"):
            if isinstance(value := message.get(key, start.get(key)), str):
                self._stream = {key: value}
        sound = _part(start, "mediaFormat" if "mediaFormat" in start else "media_format")
        name, rate = sound.get("encoding"), sound.get("sampleRate", sound.get("sample_rate"))
        if not isinstance(name, str) or name.lower() not in _ENCODINGS or not isinstance(rate, int):
            raise _bad(f"sound of {name!r} at {rate!r} Hz is not served: send {', '.join(_ENCODINGS)}")
        encoding, size = _ENCODINGS[name.lower()]
        self.line = Line(encoding, rate, size)
        self.name = str(start.get("callSid") or start.get("call_control_id") or "")[:128]
        told = {**_part(start, "customParameters"), **_part(start, "custom_parameters")}
        self.parameters = {str(key): str(value) for key, value in told.items()}
        if isinstance(start.get("from"), str):
            self.parameters.setdefault(_CALLER, start["from"])


class MediaStreams:
    """Answers calls of telephone companies.

    Args:
        host: makes the conversations.
        agent: who answers, unless the stream's parameter `agent` names another one; "": every turn stands alone.
        knowledge: knowledge base that answers are looked for in; "": none.
        recording: how calls are recorded; None: they are not.
    """

    def __init__(
        self, host: SessionHost, agent: str = "", knowledge: str = "", recording: Recording | None = None
    ) -> None:
        self._host, self._agent, self._recording = host, agent, recording
        self._knowledge = (knowledge,) if knowledge else ()
        self.routes = (WebSocketRoute(PATH, self._answer),)

    async def _answer(self, socket: WebSocket) -> None:
        await socket.accept()
        switch = MediaStreamSwitch(socket)
        await switch.begin()
        agent = switch.parameters.pop(_AGENT, "") or self._agent
        line = dataclasses.replace(switch.line, agent=agent, knowledge=self._knowledge, recording=self._recording)
        named = (switch.name, switch.parameters) if agent else ("", {})
        await Call(self._host, line, switch, *named).hold()
        if not switch.is_over:
            await socket.close(_NORMAL)


class StreamSignature:
    """Signature of Twilio's on the beginning of a stream.

    It is the HMAC-SHA1 of the stream's URL by the account's token, in base64:
    https://www.twilio.com/docs/usage/security#validating-requests.

    Args:
        url: of the stream, as Twilio was told it.
        key_file: holds the account's token.
        limits: how much the calls together may have.

    Raises:
        UnusableFileError: the file holds no token.
    """

    def __init__(self, url: str, key_file: Path, limits: PrincipalLimits) -> None:
        key = key_file.read_text(encoding="utf-8").strip()
        if not key:
            raise UnusableFileError(f"{key_file} is empty: write the account's token into it")
        self._expected = base64.b64encode(hmac.new(key.encode(), url.encode(), hashlib.sha1).digest()).decode()
        self._principal = Principal("media-streams", "token", limits)

    def check(self, headers: Mapping[str, str]) -> Principal:
        """Return whom a stream belongs to.

        Raises:
            UnauthenticatedError: it is not signed, or by another token or for another URL.
        """
        if not hmac.compare_digest(headers.get(SIGNATURE, "").encode(), self._expected.encode()):
            raise UnauthenticatedError("the stream is not signed for this URL: check --media-streams and its key")
        return self._principal


def _audio(message: Mapping[str, Any]) -> bytes:
    media = _part(message, "media")
    if media.get("track", "inbound") not in {"inbound", "inbound_track"}:
        return b""
    try:
        return base64.b64decode(media.get("payload", ""), validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise _bad("the payload of a media message is no base64: send the sound so") from None


def _part(message: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = message.get(name, {})
    if not isinstance(part, dict):
        raise _bad(f"{name} is no JSON object: send the messages of a media stream")
    return part


def _bad(text: str) -> InvalidInputError:
    return InvalidInputError("stream", "MALFORMED_REQUEST", text)
