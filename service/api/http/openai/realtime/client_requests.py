"""Reads what a client asks of a response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.errors import InvalidInputError
from service.api.http.openai.realtime.items import to_item

if TYPE_CHECKING:
    from service.api.http.openai.realtime.client_events import CreateResponse

MAX_TEXT_CHARACTERS = 2_000
MAX_METADATA = 16
MAX_INPUT_ITEMS = 100


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """A response that a client asks for.

    Attributes:
        event_id: the client's name of the event.
        text: what is answered; "" for what the user said last.
        modality: ``audio`` or ``text``.
        metadata: what the client puts on the response.
    """

    event_id: str | None
    text: str
    modality: str
    metadata: dict[str, str] | None


def to_response_request(event: CreateResponse, *, speaks: bool) -> ResponseRequest:
    """Read a request; ``speaks`` says whether the session's replies are spoken.

    Raises:
        InvalidInputError: it cannot be served; the error names the field.
    """
    asked = event.response or {}
    modalities = asked.get("output_modalities", asked.get("modalities"))
    if modalities is not None and not (isinstance(modalities, list) and modalities):
        raise InvalidInputError("response.output_modalities", "INVALID_VALUE", "choose audio or text, in a list")
    modality = "audio" if speaks and (modalities is None or "audio" in modalities) else "text"
    text = _text(asked.get("input"))
    if len(text) > MAX_TEXT_CHARACTERS:
        message = f"the text has {len(text):,} characters: send at most {MAX_TEXT_CHARACTERS:,}"
        raise InvalidInputError("response.input", "TEXT_TOO_LONG", message)
    return ResponseRequest(event.event_id, text, modality, _metadata(asked.get("metadata")))


def _text(items: Any) -> str:  # noqa: ANN401 - JSON
    """Return what the user says in the items of a request; "" where there are none."""
    if not items:
        return ""
    if not isinstance(items, list) or len(items) > MAX_INPUT_ITEMS or not all(isinstance(it, dict) for it in items):
        message = f"the input is no list of at most {MAX_INPUT_ITEMS} items: send such a list"
        raise InvalidInputError("response.input", "INVALID_VALUE", message)
    read = [to_item(raw, f"response.input[{at}]") for at, raw in enumerate(items) if "role" in raw]
    return next((item.text for item in reversed(read) if item.role == "user" and item.text), "") or ""


def _metadata(value: Any) -> dict[str, str] | None:  # noqa: ANN401 - JSON
    if value is None:
        return None
    is_good = isinstance(value, dict) and len(value) <= MAX_METADATA
    if not is_good or any(not isinstance(one, str) or len(one) > 512 for one in value.values()):
        message = f"metadata is an object of at most {MAX_METADATA} texts of at most 512 characters: send such a one"
        raise InvalidInputError("response.metadata", "INVALID_VALUE", message)
    return dict(value)
