"""Intents as tools of a language model, and its calls as slot values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipelines.data.dialog.events import Understood
from pipelines.data.dialog.lead import Wish
from pipelines.data.dialog.state import Form
from pipelines.data.understanding import Understanding
from pipelines.dialog.agent.form import CLOSED, ITEMS, MAX_TEXT_CHARACTERS, TEXT
from pipelines.dialog.agent.fulfilments import SEARCH_TOOL
from pipelines.dialog.slot_values import read_turn
from pipelines.text.values import find_values

if TYPE_CHECKING:
    import datetime as dt

    from pipelines.data.dialog.state import State
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Slot

MAX_ENUM_VALUES = 100
"""Values of a list that its schema names; of a longer one the model sends the caller's words."""
MAX_EXAMPLES = 4
MAX_ARGUMENT_CHARACTERS = 16_384

_SEARCH: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": SEARCH_TOOL,
        "description": "Look for the answer to a question in the documents.",
        "parameters": {
            "type": "object",
            "properties": {"question": {"type": "string", "description": "a whole question, which stands alone"}},
            "required": ["question"],
            "additionalProperties": False,
        },
    },
}


class CallError(Exception):
    """A call that cannot be taken; the message tells the model why."""


def tools_of(agent: Agent, state: State, *, has_documents: bool) -> list[dict[str, Any]]:
    """Return the tools of a turn, as OpenAI's API takes them.

    Sensitive slots are left out: the dialog asks for them itself. So are intents whose contexts are closed.
    """
    opened = {context.name for context in state.contexts}
    tools = [
        {"type": "function", "function": {"name": name, "description": _described(agent, name), "parameters": schema}}
        for name, intent in agent.intents.items()
        if (not intent.needs or opened.intersection(intent.needs)) and (schema := _schema(agent, name))
    ]
    return [*tools, _SEARCH] if has_documents else tools


def _described(agent: Agent, intent: str) -> str:
    form = agent.intents[intent]
    examples = "; ".join(agent.sentences.get(intent, ())[:MAX_EXAMPLES])
    texts = [
        f"What callers say for it: {examples}." if examples else f"The caller wants: {intent.replace('_', ' ')}.",
        form.help or "",
        "The dialog asks the caller to confirm it." if form.confirm else "",
    ]
    return " ".join(filter(None, texts))[:MAX_TEXT_CHARACTERS]


def _schema(agent: Agent, intent: str) -> dict[str, Any]:
    items = agent.items_of(intent)
    parts = items.parts if items is not None else {}
    slots = {name: one for name, one in agent.slots_of(intent).items() if not one.sensitive and name not in parts}
    properties = {name: _property(agent, name, slot) for name, slot in slots.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _property(agent: Agent, name: str, slot: Slot) -> dict[str, Any]:
    values = agent.values_of(name, slot)
    kind = "words" if slot.type == TEXT else "whole sentence" if slot.type == ITEMS else slot.type.replace("_", " ")
    asked = f" ({slot.prompt[0]})" if slot.prompt else ""
    if values is None or len(values.values) > MAX_ENUM_VALUES:
        described = f"{name.replace('_', ' ')}{asked}: the {kind} in the caller's own words; empty takes it away"
        return {"type": "string", "description": described}
    described = f"{name.replace('_', ' ')}{asked}; empty takes it away"
    return {"type": "string", "enum": [*values.values, ""], "description": described}


def read_call(agent: Agent, state: State, name: str, arguments: str, now: dt.datetime) -> Wish:
    """Read the call of an intent.

    Args:
        agent: whose intent it is.
        state: before the turn.
        name: of the tool.
        arguments: JSON object.
        now: the caller's date and time, with a zone.

    Raises:
        CallError: there is no such tool, or the arguments are not those of its schema.
    """
    known = [tool["function"]["name"] for tool in tools_of(agent, state, has_documents=False)]
    if name not in known:
        raise CallError(f"there is no tool {name[:64]!r}: call one of {', '.join(known)}, or answer in words")
    slots = agent.slots_of(name)
    taken: dict[str, tuple[str, str] | None] = {}
    for key, value in read_arguments(arguments).items():
        slot = slots.get(key)
        if slot is None or slot.sensitive:
            there = ", ".join(it for it, one in slots.items() if not one.sensitive) or "none"
            raise CallError(f"{name} has no argument {key[:64]!r}: its arguments are {there}")
        text = _text_of(key, value)
        taken[key] = _filled(agent, name, key, text, now) if text else None
    return Wish(name, taken)


def read_arguments(arguments: str) -> dict[str, Any]:
    """Read the arguments of a call.

    Raises:
        CallError: they are no JSON object, or too long.
    """
    if len(arguments) > MAX_ARGUMENT_CHARACTERS:
        raise CallError("the arguments are too long: send the caller's words alone")
    try:
        read = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        raise CallError("the arguments are no JSON: send one JSON object") from None
    if not isinstance(read, dict):
        raise CallError("the arguments are no JSON object: send one")
    return read


def _text_of(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CallError(f"{name} is no text: send the caller's own words")
    text = " ".join((value if isinstance(value, str) else format(value, ".15g")).split())
    if len(text) > MAX_TEXT_CHARACTERS or not text.isprintable():
        raise CallError(f"{name} is too long, or holds control characters: send the caller's own words")
    return text


def _filled(agent: Agent, intent: str, name: str, text: str, now: dt.datetime) -> tuple[str, str]:
    """Read a value as the answer to the question for its slot."""
    slot = agent.slots_of(intent)[name]
    if slot.type in {TEXT, ITEMS}:
        return text, text
    values = agent.values_of(name, slot)
    known = values.value_of(text) if values is not None else None
    if known is not None:
        return known, known
    event = Understood(0.0, text, Understanding(values=find_values(text, now)))
    filled = read_turn(agent, Form(intent, asked=name), event).filled.get(name)
    if filled is not None:
        return filled.value, filled.said
    if slot.type == CLOSED and values is not None:
        raise CallError(f"{name} is none of {', '.join(values.values[:MAX_ENUM_VALUES])}: send one, or leave it out")
    raise CallError(f"{name} is no {slot.type.replace('_', ' ')}: send the caller's own words, or leave it out")
