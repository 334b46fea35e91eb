"""Values of a form: slots, parameters, and what is computed from them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pipelines.dialog.agent.expressions import as_number, as_text, evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from pipelines.data.dialog.state import Filled, Form, State
    from pipelines.dialog.agent.agent import Agent


def values_of(agent: Agent, state: State, form: Form) -> dict[str, str]:
    """Return the values of a form by name, with those that are computed."""
    values = {**state.parameters, **{name: filled.value for name, filled in form.slots.items()}}
    return values | computed(agent, state, form)


def computed(agent: Agent, state: State, form: Form) -> dict[str, str]:
    """Return the computed values of a form that have all that they need."""
    expressions = agent.computed_of(form.intent)
    if not expressions:
        return {}
    plain = {**state.parameters, **{name: filled.value for name, filled in form.slots.items()}}
    items = tuple(partial(_figure, agent, form.intent, plain | _plain(one)) for one in form.items)
    found: dict[str, Decimal] = {}
    # Those that others need stand before them.
    for name, expression in expressions.items():

        def scope(other: str) -> Decimal | None:
            return found[other] if other in found else _figure(agent, form.intent, plain, other)

        value = evaluate(expression, scope, items)
        if value is not None:
            found[name] = value
    return {name: as_text(value) for name, value in found.items()}


def _plain(slots: Mapping[str, Filled]) -> dict[str, str]:
    return {name: filled.value for name, filled in slots.items()}


def _figure(agent: Agent, intent: str, values: Mapping[str, str], name: str) -> Decimal | None:
    """Return a value as a number, or the figure of a table's column."""
    if name in values:
        return as_number(values[name])
    for table in agent.tables.values():
        if name in table.columns:
            return table.figure(name, agent.slots_of(intent), values)
    return None


def choices_within(agent: Agent, intent: str, slot: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of a slot that go with those of other slots."""
    described = agent.slots_of(intent)[slot]
    listed = agent.values_of(slot, described)
    values = listed.values if listed is not None else ()
    table = agent.tables.get(described.within or "")
    if table is None or slot not in table.columns:
        return values
    fitting = table.values_with(slot, agent.slots_of(intent), known)
    return values if "" in fitting else tuple(value for value in values if value.lower() in fitting)


def unfit_slots(agent: Agent, intent: str, slots: Mapping[str, Filled]) -> tuple[str, ...]:
    """Return the slots whose values do not go with those of slots before them."""
    unfit: list[str] = []
    known: dict[str, str] = {}
    for name, slot in agent.slots_of(intent).items():
        if name not in slots:
            continue
        if slot.within and slots[name].value not in choices_within(agent, intent, name, known):
            unfit.append(name)
        else:
            known[name] = slots[name].value
    return tuple(unfit)
