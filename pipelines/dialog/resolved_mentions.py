"""Mentions of dates, times, amounts and numbers, and the slots for each."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import Filled
from pipelines.data.values import Value, ValueKind
from pipelines.dialog.agent.allowed import hour_of, refusal
from pipelines.dialog.agent.form import CLOSED, DICTATED, TEXT
from pipelines.dialog.agent.templates import names_in
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.fillers import FILLERS
from pipelines.dialog.mentions import Mention, is_free
from pipelines.dialog.slot_types import AMOUNTS, DAY, HOURS, ONE_UNIT, UNITS, as_said, of_type
from pipelines.dialog.told_days import told_days
from pipelines.text.digit_strings import find_codes
from pipelines.text.values import find_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Form
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.form import Intent, Slot

_ANY_DAY = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
"""Pieces of a value are read for what they are, and not for when they are."""
_LEADING = re.compile(r"^(?:on|at|for|by|around|about)\s+", re.IGNORECASE)
_FOR_HOUR = re.compile(r"\b(?:for|at|by|around|about|until)\s+$", re.IGNORECASE)
_AFTER_HOUR = re.compile(r"\s*(?:[.,!?]|please\b|and\b|$)", re.IGNORECASE)
"""What stands around an hour alone in a wish: "wake me for seven, please"."""
_STREET = re.compile(
    r"\s+(?:[^\W\d_]+\s+){1,3}(?:road|street|lane|avenue|close|court|drive|square|terrace|crescent|boulevard)\b",
    re.IGNORECASE,
)
"""What stands behind the number of a house."""
_SINCE = re.compile(r"\bsince(?: the| last)?\s+$", re.IGNORECASE)
_MARKS = re.compile(r"[,.;:!?]\s")
_MADE = re.compile(r"\b(?:make|change) (?:it|that)(?: to)?\s+(?:at\s+)?$", re.IGNORECASE)
_BETWEEN_ENDS = re.compile(r"\s(?:to|until|till|through|and)\s", re.IGNORECASE)
_CORRECTED = re.compile(
    r"(?:(?:no|so|then|let['\u2019]s say|say|sorry|wait|i mean|i meant|actually|rather|oh|well|make (?:it|that)"
    r"|it['\u2019]s|that['\u2019]s|it is|at|on|to|better)[ ,.]*)+"
)
"""Words between a value and what it is corrected to: "750 pounds, no sorry, it's 780"."""
_AROUND_ANSWERS = FILLERS | {
    *(
        "about",
        "around",
        "but",
        "by",
        "change",
        "hello",
        "instead",
        "maybe",
        "mean",
        "meant",
        "nope",
        "number",
        "o'clock",
    ),
    *(
        "oh",
        "ok",
        "okay",
        "or",
        "perhaps",
        "person",
        "people",
        "say",
        "sorry",
        "sure",
        "than",
        "well",
        "yeah",
        "it's",
        "that's",
    ),
    *("better", "wait", "i'm", "we", "are", "we're", "so", "thanks", "thank", "you"),
}
"""Words around a number that is the answer to a question for a time or an amount."""
_OF_NUMBERS = AMOUNTS | {ValueKind.TIME.value}
"""Types of slots for which a number alone may be the answer."""


def engine_mentions(slots: Mapping[str, Slot], event: Understood, taken: list[tuple[int, int]]) -> list[Mention]:
    """Return the engine's mentions for slots without a value list."""
    mentions = []
    for heard in event.understanding.slots:
        if not is_free(heard.start, heard.end, taken):
            continue
        options: dict[str, Filled] = {}
        for name, slot in slots.items():
            if heard.name != name and heard.name not in slot.heard_as:
                continue
            if slot.type == TEXT:
                options[name] = Filled(heard.value, heard.text)
            elif slot.type != CLOSED and heard.resolved is not None:
                value = of_type(heard.resolved, name, slot, event.text)
                if value is not None:
                    options[name] = value
        if options:
            mentions.append(Mention(heard.start, heard.end, options, frozenset(options)))
    return mentions


def resolved_mentions(agent: Agent, form: Form, event: Understood, taken: list[tuple[int, int]]) -> list[Mention]:
    """Return mentions of dates, times and amounts, for slots of their kind."""
    intent = agent.intents[form.intent]
    if form.asked in intent.slots and intent.slots[form.asked].type in {TEXT, *DICTATED}:
        # "31 Elm Court" is an address, and a telephone number no count.
        others = (one for one in event.understanding.values if one.kind is not ValueKind.NUMBER)
        return [
            it
            for value in others
            if is_free(value.start, value.end, taken)
            for it in _of_value(intent, form, value, event)
        ]
    mentions = list(_codes(intent, form, event.text, taken))
    taken = [*taken, *((one.start, one.end) for one in mentions)]
    mentions += told_days(intent, form, event, taken)
    taken += [(one.start, one.end) for one in mentions]
    units = {unit for slot in intent.slots for unit in UNITS.values() if unit in slot.lower()}
    for value in _alike(event.understanding.values, event.text):
        if (
            _is_beginning(value, event.text)
            or _is_past(intent, form, value, event)
            or _is_other_count(value, event, units)
        ):
            continue
        if is_free(value.start, value.end, taken) and not _STREET.match(event.text, value.end):
            mentions += _of_value(intent, form, value, event)
    return mentions


def _is_beginning(value: Value, text: str) -> bool:
    """Return whether a day tells since when something is: "since Christmas"."""
    return value.kind is ValueKind.DATE and _SINCE.search(text, 0, value.start) is not None


def _is_past(intent: Intent, form: Form, value: Value, event: Understood) -> bool:
    """Return whether a value is past, and days to come are wanted."""
    future = [name for name, slot in intent.slots.items() if slot.future]
    return (
        bool(future)
        and form.asked not in future
        and bool(event.today)
        and (value.kind in {ValueKind.DATE, ValueKind.DATE_TIME} and value.value[:10] < event.today)
    )


def _is_other_count(value: Value, event: Understood, units: set[str]) -> bool:
    """Return whether another number of the turn has the unit of the count."""
    if value.kind is not ValueKind.NUMBER or not units:
        return False
    durations = (one for one in event.understanding.values if one.kind is ValueKind.DURATION)
    return any((found := ONE_UNIT.fullmatch(one.value)) and UNITS.get(found[2]) in units for one in durations)


def _alike(values: tuple[Value, ...], text: str) -> Iterator[Value]:
    """Yield values; of "20 or 21 degrees" both are temperatures."""
    for number, value in enumerate(values):
        around = (values[number + 1 : number + 2], values[max(0, number - 1) : number])
        for (other,) in filter(None, around):
            first, last = sorted((value, other), key=lambda one: one.start)
            between = text[first.end : last.start].strip(" ,.").lower()
            is_or = between in {"or", "to", "or at", "or maybe", "or even"} or _CORRECTED.fullmatch(between) is not None
            if value.kind is ValueKind.NUMBER and is_or and other.kind.value in _OF_NUMBERS:
                hour = int(value.value) if value.value.isdecimal() else HOURS
                if other.kind is not ValueKind.TIME or hour < HOURS:
                    said = f"{hour:02}:00" if other.kind is ValueKind.TIME else value.value
                    value = dataclasses.replace(value, kind=other.kind, value=said, unit=other.unit)  # noqa: PLW2901
        yield value


def _codes(intent: Intent, form: Form, text: str, taken: list[tuple[int, int]]) -> Iterator[Mention]:
    """Yield digit strings as one number, with its zeros."""
    numbers = [name for name, slot in intent.slots.items() if slot.type == ValueKind.NUMBER.value]
    if not numbers:
        return
    for start, end, digits in find_codes(text, in_pairs=form.asked in numbers):
        if is_free(start, end, taken):
            yield Mention(start, end, dict.fromkeys(numbers, Filled(digits, digits)))


def _of_value(intent: Intent, form: Form, value: Value, event: Understood) -> list[Mention]:
    """Return a value's mentions: of date and time one each, of an interval two."""
    text = event.text
    if (ends := _ends_of(intent, value, text)) is not None:
        return ends
    counted = _counted_before_day(intent, form, value, text)
    if counted:
        return counted
    lenient = _as_answer(intent, form, value, event)
    by_type: dict[str, dict[str, Filled]] = {}
    for name, slot in intent.slots.items():
        filled = of_type(value, name, slot, text)
        if filled is not None and not (lenient and (refusal(slot, filled.value) or form.asked in lenient)):
            by_type.setdefault(slot.type, {})[name] = filled
    if not by_type and lenient:
        by_type[""] = lenient
    if len(by_type) > 1:
        by_type = _said_apart(intent, by_type, text[value.start : value.end])
    return [Mention(value.start, value.end, options) for _, options in sorted(by_type.items())]


def _ends_of(intent: Intent, value: Value, text: str) -> list[Mention] | None:
    """Return both ends of "from Monday to Friday", where two slots take them."""
    if value.kind is not ValueKind.INTERVAL or any(slot.type == value.kind.value for slot in intent.slots.values()):
        return None
    first, _, last = value.value.partition("/")
    kind = ValueKind.DATE if DAY.fullmatch(last) else ValueKind.TIME
    names = [name for name, slot in intent.slots.items() if slot.type == kind.value]
    joint = _BETWEEN_ENDS.search(text, value.start, value.end)
    if joint is None or len(names) < 2 or len(first) != len(last):
        return None
    start = value.start + len(re.match(r"(?:from |between )?", text[value.start :], re.IGNORECASE)[0])  # type: ignore[index]
    pieces = (Value(kind, first, start, joint.start()), Value(kind, last, joint.end(), value.end))
    return [
        Mention(piece.start, piece.end, dict.fromkeys(names, Filled(piece.value, as_said(text, piece))))
        for piece in pieces
    ]


def _counted_before_day(intent: Intent, form: Form, value: Value, text: str) -> list[Mention]:
    """Return number and day of "a table for two tomorrow", where both are wanted."""
    types = {slot.type: name for name, slot in intent.slots.items()}
    number, date = types.get(ValueKind.NUMBER.value), types.get(ValueKind.DATE.value)
    if value.kind is not ValueKind.DATE_TIME or number is None or date is None:
        return []
    is_for = text[: value.start].rstrip().lower().endswith(" for")
    if ValueKind.TIME.value in types and (
        not is_for or form.asked == types[ValueKind.TIME.value] or number in form.slots
    ):
        return []
    for head, tail in _halves(text[value.start : value.end]):
        counts, days = find_values(head, _ANY_DAY), find_values(tail, _ANY_DAY)
        if [one.kind for one in (*counts, *days)] == [ValueKind.NUMBER, ValueKind.DATE]:
            middle = value.end - len(tail)
            day = Value(ValueKind.DATE, value.value[:10], middle, value.end)
            return [
                Mention(value.start, value.start + len(head), {number: Filled(counts[0].value, head)}),
                Mention(middle, value.end, {date: Filled(day.value, as_said(text, day))}),
            ]
    return []


def _words_beside_values(event: Understood, value: Value) -> set[str]:
    """Return the words beside values in the piece that a value stands in."""
    start = max((it.end() for it in _MARKS.finditer(event.text, 0, value.start)), default=0)
    mark = _MARKS.search(event.text, value.end)
    words = (word for word in words_of(event.text) if start <= word.start < (mark.start() if mark else len(event.text)))
    values = event.understanding.values
    return {word.text for word in words if not any(it.start <= word.start < it.end for it in values)}


def _as_answer(intent: Intent, form: Form, value: Value, event: Understood) -> dict[str, Filled]:
    """Return a bare number as the asked time or amount, "the 24th" as the day."""
    slots = intent.slots
    wanted = [name for name, slot in slots.items() if slot.type in _OF_NUMBERS or slot.type == ValueKind.DATE.value]
    if form.asked not in slots and not (form.confirming or form.changing):
        is_told = _FOR_HOUR.search(event.text[: value.start]) and _AFTER_HOUR.match(event.text[value.end :])
        wanted = [name for name in wanted if slots[name].type == ValueKind.TIME.value] if is_told else []
    elif not (
        _AROUND_ANSWERS.issuperset(_words_beside_values(event, value)) or _MADE.search(event.text[: value.start])
    ):
        return {}
    elif form.asked in slots:
        wanted = [form.asked]
    found = {name: filled for name in wanted if (filled := from_number(slots[name], value, event.text)) is not None}
    return found if len(found) == 1 else {}


def from_number(slot: Slot, value: Value, text: str) -> Filled | None:
    """Return a bare number as a slot's time or amount, "the 24th" as its day."""
    said = as_said(text, value)
    if slot.type == ValueKind.DATE.value and value.kind is ValueKind.ORDINAL and value.day:
        return Filled(value.day, said if said.startswith("the ") else f"the {said}")
    if slot.type == ValueKind.NUMBER.value and value.kind is ValueKind.TIME and said.replace(" ", "").isalpha():
        # "About four" is a time of day by itself.
        counted = find_values(said, _ANY_DAY)
        return Filled(counted[0].value, said) if [one.kind for one in counted] == [ValueKind.NUMBER] else None
    if value.kind is not ValueKind.NUMBER:
        return None
    if slot.type in AMOUNTS:
        return Filled(value.value, said)
    if slot.type == ValueKind.TIME.value and value.value.isdecimal() and int(value.value) < HOURS:
        hour = int(value.value)
        later = f"{hour + 12}:00" if 0 < hour < HOURS / 2 else ""
        return Filled(hour_of(slot, f"{hour:02}:00", later), said)
    return None


def _said_apart(intent: Intent, by_type: dict[str, dict[str, Filled]], said: str) -> dict[str, dict[str, Filled]]:
    """Give day and time of "Friday at ten" their own words."""
    texts = [names_in(text) for text in (intent.confirm or "", *(answer.say for answer in intent.response))]
    days, times = by_type.get(ValueKind.DATE.value, {}), by_type.get(ValueKind.TIME.value, {})
    if not any(names & days.keys() and names & times.keys() for names in texts):
        return by_type
    for head, tail in _halves(said):
        kinds = [[one.kind for one in find_values(part, _ANY_DAY)] for part in (head, tail)]
        for day, time, read in ((head, tail, kinds), (tail, head, kinds[::-1])):
            if read in ([[ValueKind.DATE], [ValueKind.TIME]], [[ValueKind.DATE], [ValueKind.NUMBER]]):
                of_day, of_time = _LEADING.sub("", day), _LEADING.sub("", time)
                return by_type | {
                    ValueKind.DATE.value: {name: Filled(one.value, of_day) for name, one in days.items()},
                    ValueKind.TIME.value: {name: Filled(one.value, of_time) for name, one in times.items()},
                }
    return by_type


def _halves(said: str) -> Iterator[tuple[str, str]]:
    """Yield a text cut in two at each of its spaces."""
    for space in re.finditer(r"\s+", said):
        yield said[: space.start()], said[space.end() :]
