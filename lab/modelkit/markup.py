"""Slots marked inside a sentence, as in Rasa's training data: ``fly to [Rome](city)``."""

from __future__ import annotations

import json
import re

from engines.bert.slots import Slot

_MARK = re.compile(r"\[(?P<value>[^\[\]]+)\](?:\((?P<name>[^()]+)\)|(?P<fields>\{[^{}]*\}))")


def parse_marks(marked: str) -> tuple[str, tuple[Slot, ...]]:
    """Takes the marks out of a sentence.

    ``[value](slot)``, ``[value](slot:synonym)`` and ``[value]{"entity": "slot", "role": …}`` are understood; with a
    role the slot is called ``slot.role``. Synonyms are left to whoever reads the slots.

    Returns:
        The plain text and its slots.

    Raises:
        ValueError: a mark is not of that form.
    """
    text, slots, done = "", [], 0
    for match in _MARK.finditer(marked):
        text += _plain(marked[done : match.start()])
        slots.append(Slot(_name(match), len(text), len(text) + len(match["value"])))
        text += match["value"]
        done = match.end()
    return text + _plain(marked[done:]), tuple(slots)


def _plain(text: str) -> str:
    if "[" in text or "]" in text:
        raise ValueError("a bracket belongs to no mark: write [value](slot)")
    return text


def _name(match: re.Match[str]) -> str:
    if match["name"]:
        name = str(match["name"].split(":")[0].strip())
        if not name:
            raise ValueError(f"the parentheses after [{match['value']}] name no slot: write [value](slot)")
        return name
    try:
        fields = json.loads(match["fields"])
    except json.JSONDecodeError as error:
        raise ValueError(f"the braces after [{match['value']}] hold no JSON ({error.msg})") from error
    entity, role = fields.get("entity"), fields.get("role")
    if not isinstance(entity, str) or not entity.strip():
        raise ValueError(f'the braces after [{match["value"]}] name no entity: write {{"entity": "slot"}}')
    if role is not None and not isinstance(role, str):
        raise ValueError(f'the role after [{match["value"]}] is no text: write {{"entity": "slot", "role": "role"}}')
    return ".".join(filter(None, (entity.strip(), (role or "").strip())))
