"""Reading of a turn's slots: given, corrected, denied or ambiguous values."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import Filled
from pipelines.data.values import ValueKind
from pipelines.dialog.agent.form import CLOSED, TEXT
from pipelines.dialog.agent.prepositions import preposition_of
from pipelines.dialog.agent.value_list import spoken_name, words_of
from pipelines.dialog.denials import (
    UNIVERSAL,
    corrects,
    goes_on,
    is_denied_before,
    is_denied_behind,
    phrase_before,
    unread_denials,
)
from pipelines.dialog.dictated_mentions import dictated_mentions
from pipelines.dialog.exchanged_mentions import exchanged_mentions
from pipelines.dialog.fillers import fillers
from pipelines.dialog.mentions import closed_mentions
from pipelines.dialog.resolved_mentions import engine_mentions, resolved_mentions
from pipelines.dialog.slot_answers import answer_to, chosen_value
from pipelines.text.language import worded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Form
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Slot
    from pipelines.dialog.mentions import Mention

_ARTICLES = frozenset(("a", "an", "the", "my", "your", "our"))
_WEAK_DENIAL = re.compile(r"\bno$")
_BREAK = re.compile(r"[,.;:!?]")
_CONCLUDING = re.compile(
    r"\b(?:so|let's say|then say|makes|make that|that makes|in total|altogether|which is|that is|that's|in all)\b",
    re.IGNORECASE,
)
"""What stands before a value that sums others up: "me and two friends, so three"."""
SEPARATOR = ", "
"""Between the values of a slot that takes several."""
_MATCHES, _NEUTRAL, _CONTRADICTS = range(3)
_OTHER_NAMES = {
    ValueKind.DATE.value: ("day", "date"),
    ValueKind.TIME.value: ("time", "hour"),
    ValueKind.NUMBER.value: ("number", "count"),
    ValueKind.MONEY.value: ("amount", "sum", "price"),
}
"""How people call a slot of a type that is alone in its intent, whatever its name."""


@dataclass(frozen=True, slots=True)
class TurnReading:
    """Slot values of a turn.

    Attributes:
        filled: slots with the values that they get.
        denied: slots whose value is not wanted.
        choosing: slot that got several values, or a part of several; "": none.
        choices: those values, of which the caller has to say one.
        unclear: slots of which something is excepted that cannot be left out: "everywhere but the hall".
        is_bare: whether nothing was said beside values.
        is_denial_unread: whether something is denied that no slot is known for.
        items: those of the form's list after the turn; None: it says nothing about them.
        is_listed: whether the caller wants no further items.
    """

    filled: Mapping[str, Filled] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    choosing: str = ""
    choices: tuple[str, ...] = ()
    unclear: frozenset[str] = frozenset()
    is_bare: bool = False
    is_denial_unread: bool = False
    items: tuple[Mapping[str, Filled], ...] | None = None
    is_listed: bool = False

    def changes(self, form: Form) -> bool:
        """Return whether it changes a form."""
        return (
            any(form.slots.get(name) != value for name, value in self.filled.items())
            or any(name in form.slots for name in self.denied)
            or (self.items is not None and self.items != form.items)
            or (self.is_listed and not form.is_listed)
        )


@dataclass(frozen=True, slots=True)
class _Said:
    """A value that a turn gives a slot."""

    filled: Filled
    start: int
    end: int
    is_denied: bool
    is_correction: bool


def read_turn(agent: Agent, form: Form, event: Understood) -> TurnReading:
    """Read what a turn says about the slots of a form.

    Closed slots are looked for in the text by their value lists and taken from the understanding, which knows values
    that were misheard; the longer finding counts. Other slots are taken from the understanding. A value that several
    slots could take goes to the one that the engine names, then to the one whose preposition stands before it, then to
    the one that is asked for, then to the first that is empty.
    """
    slots, words = agent.slots_of(form.intent), words_of(event.text)
    mentions = closed_mentions(agent, form, words, event)
    mentions += exchanged_mentions(agent, form, event)
    mentions += engine_mentions(slots, event, [(one.start, one.end) for one in mentions])
    mentions += dictated_mentions(agent, form, event, [(one.start, one.end) for one in mentions])
    choice = None
    if form.asked in slots and not any(form.asked in one.options for one in mentions):
        choice = chosen_value(agent, form, event)
    if choice is None:
        mentions += resolved_mentions(agent, form, event, [(one.start, one.end) for one in mentions])
    said = _assigned(agent, form, event.text, sorted(mentions, key=lambda one: (one.start, one.end)))
    filled, denied, several, unclear = _settled(agent, form, event.text, said)
    spans = [(one.start, one.end) for found in said.values() for one in found]
    choosing, choices = next(iter(several.items()), ("", ()))
    if choice:
        filled[form.asked] = Filled(choice, choice)
        spans.append((0, len(event.text)))
    rest = [word for word in words if not any(start <= word.start < end for start, end in spans)]
    if choice is None and not choosing and form.asked in slots and form.asked not in {*filled, *denied, *unclear}:
        answer, choices = answer_to(agent, form, slots[form.asked], event, rest, is_other=bool(filled))
        choosing = form.asked if choices else ""
        if answer is not None:
            filled[form.asked] = answer
            if slots[form.asked].type != TEXT:
                rest = []
    is_bare = bool(filled or choices) and all(word.text in fillers() for word in rest)
    places = [(one.start, one.end) for found in said.values() for one in found if one.is_denied]
    is_denial_unread = unread_denials(event.text, places)
    return TurnReading(filled, frozenset(denied), choosing, choices, frozenset(unclear), is_bare, is_denial_unread)


def slot_named(agent: Agent, form: Form, text: str) -> str:
    """Return the slot named in a text ("the size", "the day"), or ""."""
    said = {word.text for word in words_of(text)}
    slots = agent.slots_of(form.intent)
    for name, slot in slots.items():
        parts = spoken_name(name).split()
        if slot.prompt and said.issuperset(parts):
            return name
    for kind, names in _OTHER_NAMES.items():
        alone = [name for name, slot in slots.items() if slot.type == kind and slot.prompt]
        if len(alone) == 1 and said.intersection(names):
            return alone[0]
    return ""


def _assigned(agent: Agent, form: Form, text: str, mentions: list[Mention]) -> dict[str, list[_Said]]:
    """Give each mention to a slot, in the order of the text."""
    given: dict[str, list[_Said]] = {}
    last, end, was_denied, is_universal = "", 0, False, False
    for number, one in enumerate(mentions):
        same_place = number > 0 and mentions[number - 1].start == one.start
        begin = next((it.end for it in reversed(mentions[:number]) if it.end <= one.start), 0)
        before = text[begin : one.start]
        stop = next((it.start for it in mentions[number + 1 :] if it.start >= one.end), len(text))
        is_correction = corrects(before) or _CONCLUDING.search(before) is not None or (was_denied and not same_place)
        is_other = [word.text for word in words_of(before)] == ["or"]
        slot = _slot_of(agent, form, text, one, given, last if is_correction or is_other else "")
        if slot is None:
            continue
        filled = one.options[slot]
        is_denied = (
            is_denied_before(before)
            or (is_universal and phrase_before(before).rsplit(" ", 1)[-1] == "but")
            or is_denied_behind(text[one.end : stop])
            or (was_denied and begin == end and goes_on(before))
            or _is_weakly_denied(before, filled, agent.slots_of(form.intent)[slot], form.slots.get(slot), form)
        )
        given.setdefault(slot, []).append(_Said(filled, one.start, one.end, is_denied, is_correction))
        is_universal = _holds_all(text, given[slot][-1])
        last, end, was_denied = slot, one.end, is_denied
    return given


def _slot_of(
    agent: Agent, form: Form, text: str, one: Mention, given: Mapping[str, list[_Said]], corrected: str
) -> str | None:
    """Return the slot that a mention fills; None if it is ambiguous."""
    if len(one.options) == 1:
        return next(iter(one.options))
    before = [word.text for word in words_of(text[: one.start])][-3:]
    while before and before[-1] in _ARTICLES:
        del before[-1]
    preposition = preposition_of(before[-1]) if before else ""
    behind = next(iter(words_of(text[one.end :])), None)
    noun = behind.text.rstrip("s") if behind is not None else ""
    prepositions = agent.prepositions_of(form.intent)

    def role(name: str) -> int:
        others = [other for other in one.options if other != name]
        if preposition:
            own, of_others = preposition in prepositions[name], any(preposition in prepositions[it] for it in others)
            if own != of_others:
                return _MATCHES if own else _CONTRADICTS
        if noun:
            if noun == name.lower().rstrip("s"):
                return _MATCHES
            if noun in {it.lower().rstrip("s") for it in others}:
                return _CONTRADICTS
        return _NEUTRAL

    def preference(name: str) -> tuple[bool, int, bool, bool, bool, bool]:
        is_given = any(not said.is_denied for said in given.get(name, ()))
        return name not in one.named, role(name), name != corrected, is_given, name != form.asked, name in form.slots

    best = min(one.options, key=preference)
    first = preference(best)
    is_told = not first[0] or first[1] == _MATCHES or not all(first[2:])
    return best if is_told or sum(preference(name) == first for name in one.options) == 1 else None


def _is_weakly_denied(before: str, filled: Filled, slot: Slot, current: Filled | None, form: Form) -> bool:
    """Return whether "no" denies a value: "no large" may correct another slot."""
    if slot.type != CLOSED or not _WEAK_DENIAL.search(phrase_before(before)):
        return False
    # Recognition hears no comma.
    if _BREAK.search(before[before.lower().rfind("no") :]):
        return False
    if current is None:
        return not slot.required and not (form.confirming or form.changing)
    denied = {word.text for word in words_of(filled.value)}
    return denied <= {word.text for word in words_of(current.value)}


def _settled(
    agent: Agent, form: Form, text: str, given: Mapping[str, list[_Said]]
) -> tuple[dict[str, Filled], set[str], dict[str, tuple[str, ...]], set[str]]:
    """Settle each slot: a value, none, an ambiguity, or unchanged."""
    slots = agent.slots_of(form.intent)
    filled: dict[str, Filled] = {}
    denied, several, unclear = set[str](), dict[str, tuple[str, ...]](), set[str]()
    for name, found in given.items():
        slot = slots[name]
        if slot.several:
            listed = _listed(found, form.slots.get(name))
            if listed is None:
                denied.add(name)
            else:
                filled[name] = listed
            continue
        refused = {one.filled.value for one in found if one.is_denied}
        wanted = [one for one in found if not one.is_denied and not _is_denied_later(one, found)]
        current = form.slots.get(name)
        is_choice = any(" or " in text[one.end : other.start] for one, other in itertools.pairwise(wanted))
        if current is not None and form.confirming and len(wanted) > 1 and not is_choice:
            # Beside its successor the value that it takes the place of says nothing.
            wanted = [one for one in wanted if one.filled.value != current.value]
        values = {one.filled.value: one.filled for one in wanted}
        if refused and (refused & values.keys() or any(_holds_all(text, one) for one in wanted)):
            unclear.add(name)
        elif not wanted:
            current = form.slots.get(name)
            if current is None or current.value in refused:
                denied.add(name)
            default = slot.default if not slot.required else None
            if default is not None and (default in refused or UNIVERSAL.intersection(default.lower().split())):
                unclear.add(name)
        elif (
            len(values) == 1
            or wanted[-1].is_correction
            or _CONCLUDING.search(text[wanted[-2].end : wanted[-1].start])
            or text[wanted[-1].end :].lower().lstrip(" ,").startswith("instead")
        ):
            filled[name] = wanted[-1].filled
        else:
            several[name] = tuple(it.value if slot.type == CLOSED else it.said for it in values.values())
    return filled, denied, several, unclear


def _is_denied_later(one: _Said, found: list[_Said]) -> bool:
    """Return whether a value is taken back: "Thursday, no, Thursday I have to work"."""
    return any(
        other.is_denied and other.start > one.start and other.filled.value == one.filled.value for other in found
    )


def _listed(found: list[_Said], current: Filled | None) -> Filled | None:
    """Return the values of a slot that takes several; None: none are left."""
    before = current.value.split(SEPARATOR) if current is not None else []
    refused = {one.filled.value for one in found if one.is_denied}
    wanted = [one.filled.value for one in found if not one.is_denied]
    is_instead = any(one.is_correction for one in found if not one.is_denied)
    values = list(dict.fromkeys((*(before if not is_instead else ()), *wanted)))
    values = [value for value in values if value not in refused]
    if not values:
        return None
    said = f"{', '.join(values[:-1])} {worded('and', 'and')} {values[-1]}" if len(values) > 1 else values[0]
    return Filled(SEPARATOR.join(values), said)


def _holds_all(text: str, one: _Said) -> bool:
    """Return whether a value covers others: "everywhere", "all rooms"."""
    said = {word.text for word in words_of(f"{text[one.start : one.end]} {one.filled.value}")}
    return bool(said & UNIVERSAL)
