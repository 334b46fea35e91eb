"""Script of a conversation that was held, without values of sensitive slots."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.dialog.agent.form import CLOSED, DIGITS, EMAIL, PERSON, PHONE, TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Slot

_STAND_INS = {PERSON: "Ada Lovelace", EMAIL: "ada@example.com", TEXT: "an example"}
_FIGURES = "1234567890"
_LEFT_OUT = "something that is left out"
"""Words in place of those that may hold a sensitive value."""
_SAME_EVERY_DAY = {CLOSED, TEXT, DIGITS, PHONE, EMAIL, PERSON, "number"}
"""Types of slots whose values do not depend on the day."""


def record(agent: Agent, name: str, events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a script of the replies to a conversation, as its file has it.

    Args:
        agent: by which it was held.
        name: of the script.
        events: objects of the SDK's ``to_dict``, and of ``--json``, in their order.
    """
    recording = _Recording(agent)
    for event in events:
        for reply in (event, *(event.get("followed") or ())):
            if reply.get("event") == "reply" and isinstance(reply.get("dialog"), dict):
                recording.add(reply)
    # A value may have been said before its slot was filled.
    turns = [
        {key: recording.hide(value) if isinstance(value, str) else value for key, value in turn.items()}
        for turn in recording.turns
    ]
    return {"name": name, "turns": turns}


@dataclass(slots=True)
class _Recording:
    agent: Agent
    turns: list[dict[str, Any]] = field(default_factory=list)
    _hidden: dict[str, str] = field(default_factory=dict)
    """Sensitive values that were said, with what stands for them."""
    _asked: tuple[str, str] = ("", "")
    _number: object = None

    def add(self, reply: Mapping[str, Any]) -> None:
        dialog = reply["dialog"]
        cause = dialog.get("cause")
        if cause == "turn":
            if self.turns and reply.get("completes") and reply.get("turn") == self._number:
                del self.turns[-1]
            self.turns.append({"caller": self._without_hidden(str(reply.get("transcript") or ""), dialog)})
            self._number = reply.get("turn")
        elif cause == "no_input":
            self.turns.append({"silence_seconds": self.agent.form.no_input.after_seconds})
        elif cause != "fulfilment" or not self.turns:
            return
        self._expect(self.turns[-1], reply)

    def _expect(self, turn: dict[str, Any], reply: Mapping[str, Any]) -> None:
        dialog = reply["dialog"]
        intent, asked = dialog.get("intent") or "", dialog.get("asked") or ""
        self._asked = intent, asked
        said = str(reply.get("speech_text") or "")
        if reply.get("answer") and said:
            turn |= {"answer": said[:1_000], "agent": said[:1_000]}
        turn |= {"asked": asked, "confirming": bool(dialog.get("confirming"))}
        known = self.agent.slots_of(intent) if intent in self.agent.intents else {}
        slots = {
            key: value
            for key, value in (dialog.get("slots") or {}).items()
            if key in known and not known[key].sensitive and known[key].type in _SAME_EVERY_DAY
        }
        turn.pop("slots", None)
        turn |= {"slots": slots} if slots else {}
        done = ", ".join(str(one.get("name")) for one in dialog.get("fulfilments") or ())
        turn |= {"fulfilled": done} if done else {}
        if dialog.get("end"):
            turn["ends"] = "hand_over" if dialog["end"] == "hand_over" else "end"

    def _without_hidden(self, text: str, dialog: Mapping[str, Any]) -> str:
        """Return what the caller said, with stand-ins for sensitive values."""
        intent, asked = self._asked
        for task in (dialog, *(dialog.get("fulfilments") or ())):
            slots = self.agent.slots_of(task.get("intent") or "") if task.get("intent") in self.agent.intents else {}
            for name, value in (task.get("slots") or {}).items():
                if name in slots and slots[name].sensitive:
                    self._hidden.setdefault(str(value), _stand_in(slots[name], str(value)))
        shown = self.hide(text)
        slot = self.agent.slots_of(intent).get(asked) if intent in self.agent.intents else None
        new = (dialog.get("slots") or {}).get(asked)
        if slot is not None and slot.sensitive and shown == text:
            # It was said in other words, such as figures one by one, or not understood.
            return self._hidden.get(str(new), _LEFT_OUT) if new is not None else _LEFT_OUT
        return shown

    def hide(self, text: str) -> str:
        """Return a text with stand-ins for the sensitive values that are known so far."""
        for value, stand_in in sorted(self._hidden.items(), key=lambda it: -len(it[0])):
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", stand_in.replace("\\", r"\\"), text, flags=re.IGNORECASE)
        return text


def _stand_in(slot: Slot, value: str) -> str:
    """Return a value of the same type and length in place of a sensitive one."""
    if any(character.isdigit() for character in value):
        figures = iter(_FIGURES * len(value))
        return "".join(next(figures) if character.isdigit() else character for character in value)
    return _STAND_INS.get(slot.type, _LEFT_OUT)
