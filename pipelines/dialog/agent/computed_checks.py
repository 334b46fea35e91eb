"""Checks of tables and of what is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.dialog.agent.expressions import ExpressionError, as_number, parse
from pipelines.dialog.agent.form import CLOSED
from pipelines.dialog.agent.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Intent
    from pipelines.dialog.agent.yaml_file import Place


def faults_of_tables(agent: Agent, folder: Path) -> Iterator[Problem]:
    """Yield the faults of the tables in a folder."""
    slots = {name: slot for intent in agent.intents.values() for name, slot in intent.slots.items()}
    for name, table in agent.tables.items():
        path = folder / f"{name}.csv"
        if not table.keys(slots):
            yield Problem(path, 1, f"no column is named after a slot: name one of them {next(iter(slots), 'drink')}")
        for number, row in enumerate(table.rows, 2):
            for column, value in row.items():
                slot = slots.get(column)
                values = agent.values_of(column, slot) if slot is not None and slot.type == CLOSED else None
                if slot is None and as_number(value) is None:
                    message = f"{value!r} is no number, and {column!r} no slot: write figures, such as 3.20"
                    yield Problem(path, number, message)
                if values is not None and value and value.lower() not in {one.lower() for one in values.values}:
                    there = ", ".join(values.values[:10])
                    yield Problem(path, number, f"{value!r} is no value of {column!r}: write one of {there}")


def faults_of_computed(agent: Agent, intent: Intent, name: str) -> Iterator[tuple[Place, str]]:
    """Yield the faults of what an intent computes, and of slots that a table limits.

    Args:
        agent: that has it.
        intent: with the slots of items.
        name: of the intent.
    """
    items = agent.items_of(name)
    figures = {column for table in agent.tables.values() for column in table.columns} - intent.slots.keys()
    for slot_name, slot in intent.slots.items():
        table = agent.tables.get(slot.within or "")
        place: Place = ("slots", slot_name, "within")
        if items is not None and slot_name in items.parts:
            place = ("slots", items.name, *place)
        if slot.within and (table is None or slot_name not in table.columns or slot.type != CLOSED):
            cure = f"write tables/{slot.within}.csv with a column {slot_name}"
            yield place, f"no table {slot.within!r} has the values of the closed slot {slot_name!r}: {cure}"
    for key, text in intent.computed.items():
        place = ("computed", key)
        if key in {*intent.slots, *agent.form.parameters, *figures}:
            yield place, f"{key!r} is a slot, parameter or column as well: rename one of the two"
        try:
            expression = parse(text)
        except ExpressionError as error:
            yield place, str(error)
            continue
        known = {*intent.slots, *agent.form.parameters, *figures, *intent.computed}
        for other in sorted(expression.names() - known):
            there = ", ".join(sorted(known - {key})) or "those that you add"
            yield place, f"{other!r} names nothing: write one of {there}"
        inner = items.parts.keys() if items is not None else set[str]()
        if expression.names(in_items=True) and items is None:
            yield place, "`sum of` needs a list of items: write the value alone, or a slot of the type items"
        if outside := sorted(expression.names(in_items=False) & inner):
            yield place, f"{outside[0]!r} is a slot of an item, of which there are several: write sum of {outside[0]}"
        if key not in agent.computed_of(name) and expression.names() <= known:
            yield place, f"{key!r} needs itself, directly or by another: write one of them without the other"
