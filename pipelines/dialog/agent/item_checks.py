"""Checks of lists of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.dialog.agent.form import CLOSED, ITEMS
from pipelines.dialog.agent.template_checks import faults_of_template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Intent, Slot
    from pipelines.dialog.agent.yaml_file import Place


def faults_of_items(agent: Agent, intent: Intent) -> Iterator[tuple[Place, str]]:
    """Yield the faults of an intent's lists of items.

    Args:
        agent: that has it.
        intent: as the file has it.
    """
    lists = [name for name, slot in intent.slots.items() if slot.type == ITEMS]
    for name in lists[1:]:
        yield ("slots", name), f"a second list of items beside {lists[0]!r}: one is the most, make it another intent"
    for name, slot in intent.slots.items():
        place: Place = ("slots", name)
        if slot.type != ITEMS:
            if slot.slots or slot.say or slot.more:
                yield place, "`slots`, `say` and `more` belong to a list: write `type: items`, or remove them"
            continue
        yield from ((place + inner, message) for inner, message in _of_list(agent, intent, slot))


def _of_list(agent: Agent, intent: Intent, slot: Slot) -> Iterator[tuple[Place, str]]:
    if slot.sensitive or any(part.sensitive for part in slot.slots.values()):
        yield (), "a list cannot be sensitive: ask for what is sensitive in a slot of the intent"
    if slot.say is None:
        yield (), "a list needs `say`, the words of an item: add say: '{count:words} {drink:count}', for example"
    if not any(part.type == CLOSED and part.required for part in slot.slots.values()):
        message = "an item needs a closed slot that is required, and tells one item from the next: add it first"
        yield ("slots",), message
    for part, inner in slot.slots.items():
        if inner.type == ITEMS:
            yield ("slots", part), "a list within a list: make it slots of the item, or another intent"
        if part in intent.slots:
            yield ("slots", part), f"{part!r} is a slot of the intent as well: rename one of the two"
    for message in faults_of_template(slot.say or "", {*slot.slots}, "slots of an item"):
        yield ("say",), message
    for index, text in enumerate(slot.more):
        for message in faults_of_template(
            text, {*intent.slots, *intent.computed, *agent.form.parameters}, "slots and parameters"
        ):
            yield ("more", index), message
