"""Tools of agents as function calls, and what clients make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.dialog.tools import ToolResult
from service.api.http.openai.realtime.items import Item
from service.api.http.openai.realtime.sending import new_id

if TYPE_CHECKING:
    from pipelines.messages import ToolCall


def call_item(call: ToolCall) -> Item:
    """Make the item of a function call, without session parameters."""
    raw = {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": msgspec.json.encode(call.arguments).decode(),
    }
    return Item(new_id("item"), "assistant", status="in_progress", is_answered=True, raw=raw)


def tool_result_of(item: Item) -> ToolResult | None:
    """Read a tool's result from a client's item; None for other items.

    An output that is a JSON object may have ``slots``, ``say``, ``failed``, ``parameters``, ``ask_again`` and
    ``offers``, as a ``tool_result`` of ``vivavoce.v1``. With ``error`` the tool has failed; any other output says that
    it is done.
    """
    raw = item.raw or {}
    if raw.get("type") != "function_call_output":
        return None
    told = _object(raw.get("output") or "")
    failed = told.get("failed") is True or bool(told.get("error"))
    say, ask_again, offers = told.get("say"), told.get("ask_again"), told.get("offers")
    return ToolResult(
        str(raw.get("call_id") or ""),
        _texts(told.get("slots")),
        say if isinstance(say, str) else "",
        failed,
        _texts(told.get("parameters")),
        ask_again if isinstance(ask_again, str) else "",
        tuple(one for one in offers if isinstance(one, str)) if isinstance(offers, list) else (),
    )


def _object(output: str) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(output)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return {}
    return told if isinstance(told, dict) else {}


def _texts(value: object) -> dict[str, str]:
    """Return the texts and numbers of an object by name."""
    if not isinstance(value, dict):
        return {}
    return {name: str(one) for name, one in value.items() if isinstance(one, str | int | float)}
