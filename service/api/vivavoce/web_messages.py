"""Messages of ``vivavoce.v1`` as a WebSocket and HTTP carry them: protobuf's JSON form, and audio in binary frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf import json_format

from pipelines.errors import InvalidInputError
from service.grpc_server.deserializers import MAX_MESSAGE_BYTES
from service.refusals import MessageTooLargeError
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.message import Message

HALF_CLOSE = '{"halfClose":{}}'
"""Says that nothing more will be sent: a WebSocket cannot be closed on one side alone."""

_MAX_COMPLAINT = 300

_M = TypeVar("_M", bound="Message")


def to_request(frame: Mapping[str, Any]) -> pb.ConverseRequest | None:
    """Reads a frame from the caller; None where nothing more will come.

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
    if len(text) > MAX_MESSAGE_BYTES:
        raise MessageTooLargeError(len(text), MAX_MESSAGE_BYTES)
    if len(text) < 2 * len(HALF_CLOSE) and "".join(text.split()) == HALF_CLOSE:
        return None
    return from_json(text, pb.ConverseRequest())


def from_json(text: str | bytes, message: _M) -> _M:
    """Reads a message in protobuf's JSON form.

    Raises:
        InvalidInputError: it is none; the error says what is wrong with it.
    """
    try:
        return json_format.Parse(text, message)
    except (json_format.ParseError, UnicodeDecodeError, RecursionError, ValueError) as error:
        complaint = " ".join(str(error).split())[:_MAX_COMPLAINT]
        sentence = f"this is no {message.DESCRIPTOR.full_name} in JSON: {complaint}"
        raise InvalidInputError("request", "MALFORMED_REQUEST", sentence) from error


def to_json(message: Message) -> str:
    """Returns a message in protobuf's JSON form, on one line."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False)


def to_frames(response: pb.ConverseResponse) -> tuple[str, bytes | None]:
    """Returns a response in JSON, and the audio that goes in a binary frame behind it; None: there is no such frame."""
    if response.WhichOneof("response") != "reply_audio":
        return to_json(response), None
    audio = response.reply_audio.audio
    response.reply_audio.ClearField("audio")
    return to_json(response), audio
