"""Mentions of dictated values: numbers, mail addresses, names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rapidfuzz import fuzz

from pipelines.data.dialog.state import Filled
from pipelines.data.values import ValueKind
from pipelines.dialog.agent.form import DICTATED, DIGITS, EMAIL, PERSON, PHONE
from pipelines.dialog.mentions import Mention, is_free
from pipelines.text.dictated import Dictated, find_digits, find_mail_addresses, find_phones
from pipelines.text.person_names import find_person

if TYPE_CHECKING:
    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Form
    from pipelines.dialog.agent.agent import Agent

MIN_LIKENESS = 60.0
"""Of a value, of 100, and one that it is corrected to."""
_SIGNS = {"@": "at", ".": "dot", "_": "underscore", "-": "dash"}


def dictated_mentions(agent: Agent, form: Form, event: Understood, taken: list[tuple[int, int]]) -> list[Mention]:
    """Return mentions of what is dictated, of each type for all of its slots.

    Args:
        agent: by which the dialog is held.
        form: of the intent under way.
        event: the turn.
        taken: places of other mentions.
    """
    slots = agent.slots_of(form.intent)
    asked = slots[form.asked].type if form.asked in slots else ""
    mentions: list[Mention] = []
    taken = list(taken)
    # A mail address may hold a name, and a telephone number is no customer number.
    for kind in (EMAIL, *(sorted((PHONE, DIGITS), key=lambda kind: kind != asked)), PERSON):
        names = [name for name, slot in slots.items() if slot.type == kind]
        if not names:
            continue
        is_asked = asked == kind
        wanted = [form.asked] if is_asked else names
        for one in _found(kind, event, is_asked=is_asked, is_open=asked not in DICTATED):
            if is_free(one.start, one.end, taken):
                filled = Filled(one.value, _spoken(kind, one.value))
                corrected = _most_like(form, wanted, one.value) if form.confirming or form.changing else wanted
                mentions.append(Mention(one.start, one.end, dict.fromkeys(corrected, filled)))
                taken.append((one.start, one.end))
    return mentions


def _most_like(form: Form, names: list[str], value: str) -> list[str]:
    """Return the slot whose value a correction is like: 17348 corrects 17340."""
    likenesses = {name: fuzz.ratio(form.slots[name].value, value) for name in names if name in form.slots}
    best = max(likenesses.values(), default=0.0)
    alike = [name for name, likeness in likenesses.items() if likeness == best]
    return alike if best >= MIN_LIKENESS and len(alike) == 1 else names


def _found(kind: str, event: Understood, *, is_asked: bool, is_open: bool) -> list[Dictated]:
    text = event.text
    match kind:
        case "email":
            return find_mail_addresses(text, is_asked=is_asked)
        case "digits" if is_asked and len(whole := _whole_numbers(event)) == 1:
            return whole
        case "phone":
            return find_phones(text, is_asked=is_asked)
        case "digits":
            return find_digits(text, is_asked=is_asked)
        case _:
            person = find_person(text, is_asked=is_asked) if is_asked or is_open else None
            return [person] if person is not None else []


def _whole_numbers(event: Understood) -> list[Dictated]:
    """Return numbers that are told as a whole: "three thousand and eighty"."""
    values = (value for value in event.understanding.values if value.kind is ValueKind.NUMBER)
    told = (Dictated(value.start, value.end, value.value) for value in values if value.value.isdecimal())
    return [one for one in told if re.search(r"hundred|thousand", event.text[one.start : one.end], re.IGNORECASE)]


def _spoken(kind: str, value: str) -> str:
    """Return a value as it is read out: digit by digit, sign by sign."""
    if kind in {DIGITS, PHONE}:
        return f"{'plus ' * value.startswith('+')}{' '.join(value.lstrip('+'))}"
    if kind == EMAIL:
        return re.sub(r"[@._-]", lambda sign: f" {_SIGNS[sign[0]]} ", value)
    return value
