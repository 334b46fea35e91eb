"""Values that a turn mentions, and the slots that each may fill."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import Filled
from pipelines.dialog.agent.value_list import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Form
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Slot
    from pipelines.dialog.agent.value_list import Word


@dataclasses.dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text with a value.

    Attributes:
        start: first code point.
        end: one past the last.
        options: slots that it may fill, of which it fills one.
        named: those among them that the engine names.
    """

    start: int
    end: int
    options: Mapping[str, Filled]
    named: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class _Candidate:
    slot: str
    value: str
    start: int
    end: int
    length: int
    is_exact: bool = True


def closed_mentions(agent: Agent, form: Form, words: tuple[Word, ...], event: Understood) -> list[Mention]:
    """Return the mentions of values of lists that together explain most words."""
    slots = agent.slots_of(form.intent)
    named = _named_by_engine(slots, event)
    candidates = [
        _Candidate(name, one.value, one.start, one.end, one.length)
        for name, slot in slots.items()
        if (values := agent.values_of(name, slot)) is not None
        for one in values.find_all(words)
    ]
    candidates += _closed_of_engine(agent, slots, event)

    def names(one: _Candidate) -> bool:
        return any(name == one.slot and start < one.end and one.start < end for start, end, name in named)

    def preference(one: _Candidate) -> tuple[int, bool, bool, bool, bool]:
        return -one.length, not one.is_exact, not names(one), one.slot != form.asked, one.slot in form.slots

    kept: dict[tuple[int, int], list[_Candidate]] = {}
    for one in sorted(candidates, key=preference):
        place = (one.start, one.end)
        if place in kept or all(one.end <= start or end <= one.start for start, end in kept):
            kept.setdefault(place, []).append(one)
    return [
        Mention(
            *place,
            {name: Filled(it.value, it.value) for name in slots for it in reversed(found) if it.slot == name},
            frozenset(one.slot for one in found if names(one)),
        )
        for place, found in kept.items()
    ]


def is_free(start: int, end: int, taken: list[tuple[int, int]]) -> bool:
    """Return whether a place overlaps no other."""
    return all(end <= begin or stop <= start for begin, stop in taken)


def _named_by_engine(slots: Mapping[str, Slot], event: Understood) -> list[tuple[int, int, str]]:
    return [
        (heard.start, heard.end, name)
        for heard in event.understanding.slots
        for name, slot in slots.items()
        if heard.name == name or heard.name in slot.heard_as
    ]


def _closed_of_engine(agent: Agent, slots: Mapping[str, Slot], event: Understood) -> list[_Candidate]:
    """Return the engine's values of closed slots, also of misheard words."""
    found = []
    for heard in event.understanding.slots:
        for name, slot in slots.items():
            values = agent.values_of(name, slot)
            if values is None or (heard.name != name and heard.name not in slot.heard_as):
                continue
            known = values.value_of(heard.value) or values.value_of(heard.text)
            if known is not None:
                length = len(words_of(heard.text))
                found.append(_Candidate(name, known, heard.start, heard.end, length, is_exact=False))
    return found
