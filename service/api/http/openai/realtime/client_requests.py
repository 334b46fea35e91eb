"""Reads what a client asks of a response, and what a tool has given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.dialog.tools import ToolResult
from pipelines.errors import InvalidInputError
from service.api.http.openai.realtime.items import to_item

if TYPE_CHECKING:
    from service.api.http.openai.realtime.client_events import CreateResponse
    from service.api.http.openai.realtime.items import Item

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
    metadata = asked.get("metadata")
    if metadata is not None:
        is_good = isinstance(metadata, dict) and len(metadata) <= MAX_METADATA
        if not is_good or any(not isinstance(one, str) or len(one) > 512 for one in metadata.values()):
            message = (
                f"metadata is an object of at most {MAX_METADATA} texts of at most 512 characters: send such a one"
            )
            raise InvalidInputError("response.metadata", "INVALID_VALUE", message)
    return ResponseRequest(event.event_id, text, modality, metadata)


def _text(items: Any) -> str:  # noqa: ANN401 - JSON
    """Return what the user says in the items of a request; "" where there are none."""
    if not items:
        return ""
    if not isinstance(items, list) or len(items) > MAX_INPUT_ITEMS or not all(isinstance(it, dict) for it in items):
        message = f"the input is no list of at most {MAX_INPUT_ITEMS} items: send such a list"
        raise InvalidInputError("response.input", "INVALID_VALUE", message)
    read = [to_item(raw, "item", f"response.input[{at}]") for at, raw in enumerate(items) if "role" in raw]
    return next((item.text for item in reversed(read) if item.role == "user" and item.text), "") or ""


def tool_result_of(item: Item) -> ToolResult | None:
    """Read a tool's result from a client's item; None for other items.

    An output that is a JSON object may have ``slots``, ``say``, ``failed`` and ``parameters``, as a ``tool_result`` of
    ``vivavoce.v1``. With ``error`` the tool has failed; any other output says that it is done.
    """
    raw = item.raw or {}
    if raw.get("type") != "function_call_output":
        return None
    try:
        told = msgspec.json.decode(raw.get("output") or "")
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        told = {}
    told = told if isinstance(told, dict) else {}
    failed = told.get("failed") is True or bool(told.get("error"))
    say = told.get("say")
    return ToolResult(
        str(raw.get("call_id") or ""),
        _texts(told.get("slots")),
        say if isinstance(say, str) else "",
        failed,
        _texts(told.get("parameters")),
    )


def _texts(value: object) -> dict[str, str]:
    """Return the texts and numbers of an object by name."""
    if not isinstance(value, dict):
        return {}
    return {name: str(one) for name, one in value.items() if isinstance(one, str | int | float)}
