"""Events of clients: one record each."""

from __future__ import annotations

from typing import Any

import msgspec

from pipelines.errors import InvalidInputError
from service.api.http.json_reading import MAX_BESIDE_BYTES, check_beside, read_json
from service.api.http.openai.bodies import complaint
from service.api.http.openai.realtime.session_form import DOCUMENTS
from service.refusals import MessageTooLargeError

_MAX_SHOWN = 60


class _Event(msgspec.Struct, frozen=True, tag_field="type"):
    """An event; errors that it causes name ``event_id``."""

    event_id: str | None = None


class UpdateSession(_Event, frozen=True, tag="session.update"):
    """Changes the session."""

    session: dict[str, Any] = {}


class UpdateTranscriptionSession(UpdateSession, frozen=True, tag="transcription_session.update"):
    """Changes a transcription session: the beta's form, and NVIDIA's."""


class AppendAudio(_Event, frozen=True, tag="input_audio_buffer.append"):
    """Brings audio, base64; ``runtime_config`` is NVIDIA's."""

    audio: bytes = b""
    runtime_config: dict[str, Any] = {}


class CommitAudio(_Event, frozen=True, tag="input_audio_buffer.commit"):
    """Ends the utterance."""


class ForceCommit(_Event, frozen=True):
    """Ends the utterance, however short: meant by others, sent by no client."""


class ClearAudio(_Event, frozen=True, tag="input_audio_buffer.clear"):
    """Drops the utterance."""


class FinishAudio(_Event, frozen=True, tag="input_audio_buffer.done"):
    """Says that no audio follows: NVIDIA's."""


class CreateItem(_Event, frozen=True, tag="conversation.item.create"):
    """Adds an item to the conversation."""

    item: dict[str, Any] = {}
    previous_item_id: str | None = None


class RetrieveItem(_Event, frozen=True, tag="conversation.item.retrieve"):
    """Asks for an item."""

    item_id: str = ""


class DeleteItem(_Event, frozen=True, tag="conversation.item.delete"):
    """Removes an item."""

    item_id: str = ""


class TruncateItem(_Event, frozen=True, tag="conversation.item.truncate"):
    """Tells how much of a spoken item was heard."""

    item_id: str = ""
    content_index: int = 0
    audio_end_ms: int = 0


class CreateResponse(_Event, frozen=True, tag="response.create"):
    """Asks for a response."""

    response: dict[str, Any] | None = None


class CancelResponse(_Event, frozen=True, tag="response.cancel"):
    """Stops the response."""

    response_id: str | None = None


class ClearOutput(_Event, frozen=True, tag="output_audio_buffer.clear"):
    """Stops the response's audio."""


ClientEvent = (
    UpdateSession
    | UpdateTranscriptionSession
    | AppendAudio
    | CommitAudio
    | ClearAudio
    | FinishAudio
    | CreateItem
    | RetrieveItem
    | DeleteItem
    | TruncateItem
    | CreateResponse
    | CancelResponse
    | ClearOutput
)
Meant = ClientEvent | ForceCommit
"""Events in whatever dialect they came."""
_KNOWN = [event.__struct_config__.tag for event in ClientEvent.__args__]

_DECODER: msgspec.json.Decoder[ClientEvent] = msgspec.json.Decoder(ClientEvent)


class _Named(msgspec.Struct, frozen=True):
    """Error about an event that cannot be served."""

    type: Any = None
    event_id: Any = None


class BadEventError(InvalidInputError):
    """An event cannot be read.

    Attributes:
        event_id: its id; None where it has none.
    """

    def __init__(self, field: str, reason: str, message: str, event_id: str | None = None) -> None:
        super().__init__(field, reason, message)
        self.event_id = event_id


async def read_event(text: str) -> ClientEvent:
    """Read an event.

    Raises:
        BadEventError: it is none, or too large.
    """
    try:
        return await read_json(text, _read)
    except BadEventError:
        raise
    except (InvalidInputError, MessageTooLargeError) as error:
        raise BadEventError("body", error.reason, str(error)) from error


def _read(data: bytes) -> ClientEvent:
    try:
        event = _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise _invalid(data, error) from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadEventError("body", "INVALID_JSON", "this is no JSON: send one event a message, an object") from error
    if len(data) > MAX_BESIDE_BYTES:
        documents = ("session", *DOCUMENTS) if type(event) is UpdateSession else ()
        check_beside(msgspec.structs.asdict(event), *documents, field="body")
    return event


def _invalid(text: bytes, error: msgspec.ValidationError) -> BadEventError:
    try:
        named = msgspec.json.decode(text, type=_Named)
    except (msgspec.DecodeError, RecursionError):
        named = _Named()
    event_id = named.event_id if isinstance(named.event_id, str) else None
    kind = named.type
    if kind not in _KNOWN:
        wrong = f"there is no event of the type {kind[:_MAX_SHOWN]!r}" if isinstance(kind, str) else "it has no type"
        message = f"{wrong}: send one of {', '.join(map(str, _KNOWN))}"
        return BadEventError("type", "UNKNOWN_EVENT", message, event_id)
    field, sentence = complaint(error)
    return BadEventError(field, "INVALID_VALUE", f"{sentence}, in {field} of {kind}", event_id)
