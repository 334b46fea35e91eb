"""What a turn says about the slots of an intent: values given, corrected and denied."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.dialog.agent.form import CLOSED, TEXT
from pipelines.dialog.agent.value_list import Mention, words_of
from pipelines.dialog.answering import FILLERS, answer_to, chosen_value
from pipelines.dialog.state import Filled
from pipelines.text.values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Slot
    from pipelines.dialog.agent.value_list import Word
    from pipelines.dialog.events import Understood
    from pipelines.dialog.state import Form
    from pipelines.stages.understanding import Value

_ARTICLES = frozenset(("a", "an", "the", "any", "that", "some"))
_DENIAL = re.compile(
    r"(?:\b(?:not|without|minus|instead of|rather than|no more|hold|skip|remove|drop|leave out|take out)"
    r"|\b(?:don't|do not|doesn't|didn't) (?:want|need|like|say|order))$"
)
_WEAK_DENIAL = re.compile(r"\bno$")
_OLD_SPELLING = re.compile(r"\bto-(morrow|day|night)\b", re.IGNORECASE)
_NAMES = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|christmas|easter|new",
    re.IGNORECASE,
)
"""First words of values that keep their capital."""
_BREAK = re.compile(r"[,.;:!?]")


@dataclass(frozen=True, slots=True)
class TurnReading:
    """What a turn says about slots.

    Attributes:
        filled: slots with the values that they get.
        denied: slots whose value is not wanted.
        choices: values of the slot that was asked for that an answer may mean.
        is_bare: whether nothing was said beside values.
    """

    filled: Mapping[str, Filled] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    choices: tuple[str, ...] = ()
    is_bare: bool = False

    def changes(self, form: Form) -> bool:
        """Whether it gives a form another value, or takes one away."""
        return any(form.slots.get(name) != value for name, value in self.filled.items()) or any(
            name in form.slots for name in self.denied
        )


@dataclass(frozen=True, slots=True)
class _Candidate:
    slot: str
    mention: Mention
    is_exact: bool = True


def read_turn(agent: Agent, form: Form, event: Understood) -> TurnReading:
    """Reads what a turn says about the slots of a form.

    Closed slots are looked for in the text by their value lists and taken from the understanding, which knows values
    that were misheard; the longer finding counts. Other slots are taken from the understanding. A value that several
    slots could take goes to the one that the engine names, then to the one that is asked for, then to the first that
    is empty.
    """
    slots, words = agent.slots_of(form.intent), words_of(event.text)
    hints = _engine_names(slots, event)
    found = _closed(agent, form, words, hints, _engine_values(agent, slots, event))
    filled: dict[str, Filled] = {}
    denied: set[str] = set()
    spans = [(one.mention.start, one.mention.end) for one in found]
    for one in found:
        value = one.mention.value
        if _is_denied(event.text, one, spans, slots[one.slot], form):
            denied.add(one.slot)
        else:
            filled[one.slot] = Filled(value, value)
    _add_from_engine(slots, event, filled, spans)
    choice = chosen_value(agent, form, event) if form.asked in slots and form.asked not in filled else None
    if choice is None:
        _add_resolved(slots, form, event, filled, spans)
    elif choice:
        filled[form.asked] = Filled(choice, choice)
        spans.append((0, len(event.text)))
    rest = [word for word in words if not any(start <= word.start < end for start, end in spans)]
    choices: tuple[str, ...] = ()
    if choice is None and form.asked in slots and form.asked not in filled:
        answer, choices = answer_to(agent, form, slots[form.asked], event, rest)
        if answer is not None:
            filled[form.asked] = answer
            if slots[form.asked].type != TEXT:
                rest = []
    is_bare = bool(filled or choices) and all(word.text in FILLERS for word in rest)
    return TurnReading(filled, frozenset(denied - filled.keys()), choices, is_bare)


def slot_named(agent: Agent, form: Form, text: str) -> str:
    """Returns the slot whose name stands in a text ("the size"); "" where none does."""
    said = {word.text for word in words_of(text)}
    for name, slot in agent.slots_of(form.intent).items():
        parts = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").lower().split()
        if slot.prompt and said.issuperset(parts):
            return name
    return ""


def _engine_names(slots: Mapping[str, Slot], event: Understood) -> list[tuple[int, int, str]]:
    return [
        (heard.start, heard.end, name)
        for heard in event.understanding.slots
        for name, slot in slots.items()
        if heard.name == name or heard.name in slot.heard_as
    ]


def _engine_values(agent: Agent, slots: Mapping[str, Slot], event: Understood) -> list[_Candidate]:
    """Returns the values of closed slots that the engine found, also where the words were misheard."""
    found = []
    for heard in event.understanding.slots:
        for name, slot in slots.items():
            values = agent.values_of(name, slot)
            if values is None or (heard.name != name and heard.name not in slot.heard_as):
                continue
            known = values.value_of(heard.value) or values.value_of(heard.text)
            if known is not None:
                length = len(words_of(heard.text))
                found.append(_Candidate(name, Mention(known, heard.start, heard.end, length), is_exact=False))
    return found


def _closed(
    agent: Agent,
    form: Form,
    words: tuple[Word, ...],
    hints: Iterable[tuple[int, int, str]],
    by_engine: list[_Candidate],
) -> list[_Candidate]:
    """Returns the mentions of values that together explain most words, in the order of the text."""
    candidates = by_engine + [
        _Candidate(name, mention)
        for name, slot in agent.slots_of(form.intent).items()
        if (values := agent.values_of(name, slot)) is not None
        for mention in values.find(words)
    ]

    def preference(one: _Candidate) -> tuple[int, bool, bool, bool, bool]:
        hinted = any(
            name == one.slot and start < one.mention.end and one.mention.start < end for start, end, name in hints
        )
        return -one.mention.length, not one.is_exact, not hinted, one.slot != form.asked, one.slot in form.slots

    kept: list[_Candidate] = []
    for one in sorted(candidates, key=preference):
        if all(one.mention.end <= other.mention.start or other.mention.end <= one.mention.start for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.mention.start)


def _is_denied(text: str, one: _Candidate, spans: list[tuple[int, int]], slot: Slot, form: Form) -> bool:
    begin = max((end for _, end in spans if end <= one.mention.start), default=0)
    before = text[begin : one.mention.start]
    said = [word.text for word in words_of(before)]
    while said and said[-1] in _ARTICLES:
        del said[-1]
    phrase = " ".join(said)
    if _DENIAL.search(phrase):
        return not _BREAK.search(before.rstrip()[-1:])
    if not _WEAK_DENIAL.search(phrase) or _BREAK.search(before[before.lower().rfind("no") :]):
        return False
    # Recognition hears no comma: "no large" is a correction where the order has nothing large in it.
    current = form.slots.get(one.slot)
    if current is None:
        return not slot.required and not (form.confirming or form.changing)
    denied = {word.text for word in words_of(one.mention.value)}
    return denied <= {word.text for word in words_of(current.value)}


def _add_from_engine(
    slots: Mapping[str, Slot], event: Understood, filled: dict[str, Filled], spans: list[tuple[int, int]]
) -> None:
    """Adds what the engine found for slots without a value list."""
    for heard in event.understanding.slots:
        for name, slot in slots.items():
            if name in filled or (heard.name != name and heard.name not in slot.heard_as):
                continue
            if any(start < heard.end and heard.start < end for start, end in spans):
                continue
            value: Filled | None = None
            if slot.type == TEXT:
                value = Filled(heard.value, heard.text)
            elif slot.type != CLOSED and heard.resolved is not None:
                value = _of_kind(heard.resolved, slot, event.text)
            if value is not None:
                filled[name] = value
                spans.append((heard.start, heard.end))
                break


def _add_resolved(
    slots: Mapping[str, Slot],
    form: Form,
    event: Understood,
    filled: dict[str, Filled],
    spans: list[tuple[int, int]],
) -> None:
    """Adds dates, times, amounts … to slots of their kind that the engine did not name."""
    taken: list[tuple[int, int]] = []
    for resolved in event.understanding.values:
        if any(start < resolved.end and resolved.start < end for start, end in spans):
            continue
        fitting = [
            (name, value)
            for name, slot in slots.items()
            if name not in filled and (value := _of_kind(resolved, slot, event.text)) is not None
        ]
        kinds = {slots[name].type for name, _ in fitting}
        for kind in sorted(kinds):
            of_kind = [(name, value) for name, value in fitting if slots[name].type == kind]
            asked = [one for one in of_kind if one[0] == form.asked]
            empty = [one for one in of_kind if one[0] not in form.slots]
            chosen = asked or empty[:1] or (of_kind if len(of_kind) == 1 else [])
            for name, value in chosen[:1]:
                filled[name] = value
                taken.append((resolved.start, resolved.end))
    spans += taken


def _as_said(text: str, resolved: Value) -> str:
    """Returns the words of a value as they stand in the middle of a sentence: "tomorrow" of "To-morrow, please"."""
    said = _OLD_SPELLING.sub(r"to\1", text[resolved.start : resolved.end])
    begins = not text[: resolved.start].strip()
    first = said.split(" ", 1)[0]
    return said[:1].lower() + said[1:] if begins and not _NAMES.fullmatch(first) and not first.isupper() else said


def _of_kind(resolved: Value, slot: Slot, text: str) -> Filled | None:
    """Returns a resolved value as that of a slot; a date with a time has both."""
    said, kind = _as_said(text, resolved), resolved.kind.value
    if kind == slot.type:
        return Filled(resolved.value, said)
    if kind == ValueKind.DATE_TIME.value and slot.type == ValueKind.DATE.value:
        return Filled(resolved.value[:10], said)
    if kind == ValueKind.DATE_TIME.value and slot.type == ValueKind.TIME.value:
        return Filled(resolved.value[11:16], said)
    return None
