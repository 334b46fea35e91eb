"""Checks of conditions: names, values, and what can never be true."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from pipelines.data.values import ValueKind
from pipelines.dialog.agent.allowed import refusal
from pipelines.dialog.agent.conditions import compared, holds, other_of
from pipelines.dialog.agent.expressions import as_number
from pipelines.dialog.agent.form import CLOSED, ITEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Intent, Slot
    from pipelines.dialog.agent.yaml_file import Place

_ORDERING = frozenset(("<", ">", "<=", ">="))
_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
_COUNTED = frozenset(
    kind.value
    for kind in (ValueKind.NUMBER, ValueKind.ORDINAL, ValueKind.MONEY, ValueKind.PERCENTAGE, ValueKind.TEMPERATURE)
)


def faults_of_condition(agent: Agent, intent: Intent, key: str, value: str) -> Iterator[str]:
    """Yield the faults of one condition of an intent, each with its cure."""
    names = (*intent.slots, *intent.computed, *agent.form.parameters)
    sign, bound = compared(value)
    other = other_of(bound)
    if other and other not in names:
        yield f"`when` compares with {other!r}, which is no slot or parameter: write one of {', '.join(names)}"
        return
    if key in agent.form.parameters or other:
        if other == key:
            yield f"`when` compares {key!r} with itself: write another name"
        return
    if key in intent.computed:
        if as_number(bound) is None:
            yield f"`when`: {key!r} is a number, and never {bound!r}: write a number"
        return
    slot = intent.slots.get(key)
    if slot is None:
        there = ", ".join(names) or "those that you add"
        yield f"`when` names {key!r}, which is no slot or parameter: write one of {there}"
    elif slot.type == ITEMS:
        yield f"`when`: {key!r} is a list: compute its number, such as `items: number of {key}`, and compare that"
    elif slot.type == CLOSED:
        values = agent.values.get(slot.values or key)
        if values is not None and bound not in values.values:
            yield f"`when`: {bound!r} is no value of {key!r}: write one of {', '.join(values.values[:10])}"
        if sign in _ORDERING:
            yield f"`when`: values of {key!r} have no order: write a value, or != and a value"
    elif is_never_true(slot, key, value):
        yield f"`when`: {value!r} is never allowed for {key!r}, so that this is never true: write another value"


def is_never_true(slot: Slot, key: str, value: str) -> bool:
    """Return whether no value that a slot takes fulfils a condition."""
    sign, bound = compared(value)
    if not _is_of_type(slot, bound):
        return sign != "!="
    if not sign:
        return bool(refusal(slot, bound))
    if sign == "!=" or slot.allow is None or slot.allow.between is None:
        return False
    # Of a range with an order, one of its ends fulfils what anything in it does.
    return not any(holds({key: value}, {key: end}) for end in slot.allow.between)


def _is_of_type(slot: Slot, bound: str) -> bool:
    if slot.type in _COUNTED:
        return as_number(bound) is not None
    if slot.type == ValueKind.TIME.value:
        return _TIME.fullmatch(bound) is not None
    if slot.type == ValueKind.DATE.value:
        try:
            return bool(dt.date.fromisoformat(bound))
        except ValueError:
            return False
    return True


def circles_of(intent: Intent) -> Iterator[tuple[Place, str]]:
    """Yield slots that wait for each other, so that none is asked for."""
    waits = {name: [it for it in slot.when if it in intent.slots] for name, slot in intent.slots.items()}
    for name, slot in intent.slots.items():
        seen: list[str] = []
        # A slot without conditions, or one that is never asked for, ends the way.
        at = [name]
        while at:
            this = at.pop()
            for other in waits[this]:
                if other == name and slot.required:
                    way = " and ".join(dict.fromkeys((name, *seen, this)))
                    yield ("slots", name, "when"), f"{way} wait for each other, so that none is asked for: drop one"
                    at = []
                    break
                if other not in seen:
                    seen.append(other)
                    at.append(other)
