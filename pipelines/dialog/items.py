"""Lists of items within a form: the item that is asked about, and their words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.dialog.state import Filled
from pipelines.dialog.agent.conditions import holds
from pipelines.dialog.agent.templates import substituted
from pipelines.text.language import worded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.data.dialog.state import Form, State
    from pipelines.dialog.agent.agent import Agent, Items

MAX_ITEMS = 20
"""Of one list; further ones are not taken."""

Item = dict[str, Filled]


def items_in(items: Items, form: Form) -> tuple[Item, ...]:
    """Return the items of a form, with what was told of the open one."""
    if form.item < 0:
        return form.items
    own = {name: filled for name, filled in form.slots.items() if name in items.parts}
    return (*form.items[: form.item], own, *form.items[form.item + 1 :])


def settled(agent: Agent, state: State, form: Form) -> Form:
    """Return a form with its list told, and its first incomplete item open."""
    items = agent.items_of(form.intent)
    if items is None:
        return form
    rest = {name: filled for name, filled in form.slots.items() if name not in items.parts and name != items.name}
    listed = items_in(items, form)
    place = next((at for at, one in enumerate(listed) if missing_part(items, state, rest, one)), -1)
    listed = tuple(one if missing_part(items, state, rest, one) else _with_defaults(items, one) for one in listed)
    if place < 0:
        listed = _merged(items, listed)
    slots = {**rest, **(listed[place] if place >= 0 else {})}
    if listed:
        slots[items.name] = Filled(as_json(items, listed), words_of_items(items, listed))
    slots = {name: slots[name] for name in agent.slots_of(form.intent) if name in slots}
    tries = form.tries
    if place != form.item:
        tries = {name: count for name, count in tries.items() if name not in items.parts}
    return replace(form, slots=slots, items=listed, item=place, tries=tries)


def missing_part(items: Items, state: State, rest: Mapping[str, Filled], one: Mapping[str, Filled]) -> str:
    """Return the first required slot that an item lacks; "" for none."""
    values = {**state.parameters, **{name: filled.value for name, filled in (*rest.items(), *one.items())}}
    return next(
        (name for name, slot in items.parts.items() if slot.required and name not in one and holds(slot.when, values)),
        "",
    )


def is_listing(agent: Agent, form: Form) -> bool:
    """Return whether the caller was asked for further items."""
    items = agent.items_of(form.intent)
    return items is not None and bool(form.items) and form.asked == items.name


def as_json(items: Items, listed: Sequence[Item]) -> str:
    """Return items as fulfilments are told of them: a JSON list of objects."""
    values = [{name: one[name].value for name in items.parts if name in one} for one in listed]
    return json.dumps(values, ensure_ascii=False)


def words_of_items(items: Items, listed: Sequence[Item]) -> str:
    """Return items as they are read out: "two lattes and one small mocha"."""
    template = items.slot.say or ""
    said = [substituted(template, {name: filled.said for name, filled in one.items()}) for one in listed]
    return f"{', '.join(said[:-1])} {worded('and', 'and')} {said[-1]}" if len(said) > 1 else "".join(said)


def _with_defaults(items: Items, one: Item) -> Item:
    defaults = {name: slot.default for name, slot in items.parts.items() if slot.default and not slot.required}
    return {**{name: Filled(value, value) for name, value in defaults.items() if name not in one}, **one}


def _merged(items: Items, listed: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return items in which equal ones are one, with the sum of their counts."""
    if not items.count:
        return listed
    merged: dict[frozenset[tuple[str, str]], Item] = {}
    for one in listed:
        key = frozenset((name, filled.value) for name, filled in one.items() if name != items.count)
        if key in merged:
            one = with_count(items, merged[key], count_of(items, merged[key]) + count_of(items, one))  # noqa: PLW2901
        merged[key] = one
    return tuple(merged.values())


def count_of(items: Items, one: Mapping[str, Filled]) -> int:
    """Return how many there are of an item."""
    filled = one.get(items.count)
    return int(filled.value) if filled is not None and filled.value.isdecimal() else 1


def with_count(items: Items, one: Mapping[str, Filled], count: int) -> Item:
    """Return so many of an item."""
    return {**one, items.count: Filled(str(count), str(count))} if items.count else dict(one)
