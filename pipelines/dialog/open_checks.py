"""Checks of a form that are due."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.data.dialog.state import Form
    from pipelines.dialog.agent.agent import Agent


def open_check(agent: Agent, form: Form) -> tuple[str, str]:
    """Return the first check that is due, and the mark of its values."""
    items = agent.items_of(form.intent)
    for name, slots in agent.intents[form.intent].check.items():
        if any(slot not in form.slots for slot in slots):
            continue
        if items is not None and items.name in slots and (form.item >= 0 or (items.slot.more and not form.is_listed)):
            continue
        told = "\n".join(f"{slot}={form.slots[slot].value}" for slot in slots)
        mark = hashlib.sha256(told.encode()).hexdigest()[:16]
        if form.checked.get(name) != mark:
            return name, mark
    return "", ""
