"""Values that take the place of others by name: "eleven instead of nine"."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pipelines.dialog.mentions import Mention
from pipelines.dialog.resolved_mentions import from_number
from pipelines.dialog.slot_types import of_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Filled, Form
    from pipelines.data.values import Value
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Slot

_INSTEAD = frozenset(("instead of", "rather than", "and not", "not"))


def exchanged_mentions(agent: Agent, form: Form, event: Understood) -> Iterator[Mention]:
    """Yield values that replace the one of a slot, whatever is asked for."""
    slots = agent.slots_of(form.intent)
    for new, old in itertools.pairwise(event.understanding.values):
        if event.text[new.end : old.start].strip(" ,").lower() not in _INSTEAD:
            continue
        for name, filled in form.slots.items():
            before = _filled(name, slots[name], old, event.text)
            after = _filled(name, slots[name], new, event.text)
            if before is not None and after is not None and before.value == filled.value:
                yield Mention(new.start, old.end, {name: after})
                break


def _filled(name: str, slot: Slot, value: Value, text: str) -> Filled | None:
    return of_type(value, name, slot, text) or from_number(slot, value, text)
