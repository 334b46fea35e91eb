"""Messages over HTTP: protobuf's JSON, and audio in binary frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from google.protobuf import json_format

from pipelines.errors import InvalidInputError
from service.api.http.json_reading import MAX_BESIDE_BYTES, check_beside, read_json
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.message import Message

HALF_CLOSE = '{"halfClose":{}}'
"""Says that nothing more will be sent: a WebSocket cannot be closed on one side alone."""

_MAX_COMPLAINT = 300

_M = TypeVar("_M", bound="Message")


async def to_request(frame: Mapping[str, Any]) -> pb.ConverseRequest | None:
    """Read a frame from the caller; None where nothing more will come.

    Args:
        frame: an ASGI message of the type ``websocket.receive``.

    Raises:
        InvalidInputError: it is no request.
        MessageTooLargeError: it is too long.
    """
    audio, text = frame.get("bytes"), frame.get("text")
    if audio is not None:
        return pb.ConverseRequest(audio=audio)
    assert text is not None
    if len(text) < 2 * len(HALF_CLOSE) and "".join(text.split()) == HALF_CLOSE:
        return None
    return await read_json(text, _read_request)


async def to_ask_request(body: bytes) -> pb.AskRequest:
    """Read the body of a typed turn.

    Raises:
        InvalidInputError: it is no request.
        MessageTooLargeError: it is too long.
    """
    return await read_json(body, _read_ask)


def _read_ask(data: bytes) -> pb.AskRequest:
    _check_beside(data, ("documents",))
    return _from_json(data, pb.AskRequest())


def _read_request(data: bytes) -> pb.ConverseRequest:
    _check_beside(data, ("config", "documents"), ("update", "documents", "documents"))
    return _from_json(data, pb.ConverseRequest())


def _check_beside(data: bytes, *documents: tuple[str, ...]) -> None:
    """Check a long message with a fast parser first: protobuf's is slow."""
    if len(data) <= MAX_BESIDE_BYTES:
        return
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return  # protobuf's parser says what is wrong.
    if isinstance(value, dict):
        value.pop("audio", None)
        path = next((names for names in documents if names[0] in value), ())
        check_beside(value, *path, field="request")


def _from_json(text: bytes, message: _M) -> _M:
    try:
        return json_format.Parse(text, message)
    except (json_format.ParseError, UnicodeDecodeError, RecursionError, ValueError) as error:
        complaint = " ".join(str(error).split())[:_MAX_COMPLAINT]
        sentence = f"this is no {message.DESCRIPTOR.full_name} in JSON: {complaint}"
        raise InvalidInputError("request", "MALFORMED_REQUEST", sentence) from error


def to_json(message: Message) -> str:
    """Return a message in protobuf's JSON form, on one line."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False)


def to_frames(response: pb.ConverseResponse) -> tuple[str, bytes | None]:
    """Return a response in JSON, and the audio of its binary frame, or None."""
    if response.WhichOneof("response") != "reply_audio":
        return to_json(response), None
    audio = response.reply_audio.audio
    response.reply_audio.ClearField("audio")
    return to_json(response), audio
