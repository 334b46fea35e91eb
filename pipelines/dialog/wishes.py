"""Wishes of a turn: several, denied, withdrawn, or for another time."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import Form
from pipelines.data.understanding import Understanding
from pipelines.data.values import ValueKind
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.phrases import Kind, read_phrases
from pipelines.dialog.slot_values import read_turn

if TYPE_CHECKING:
    from pipelines.data.dialog.events import Understood
    from pipelines.data.understanding import Reading, Slot
    from pipelines.data.values import Value
    from pipelines.dialog.agent.agent import Agent

MIN_CONFIDENCE = 0.5
"""Least confidence in an intent that begins a form."""

_BEFORE = (
    r"^\W*(?:(?:please|and|but|then|so|well|oh|um+|uh+|no|nope|yes|yeah|okay|ok|hey|hi|hello|sorry|wait|now|also"
    r"|just|whatever you do"
    r"|can you|could you|would you|will you)\b\W*)*"
)
_DENIED = re.compile(
    _BEFORE + r"(?:(?:don['\u2019]?t|do not|never|not|you (?:should|must|may|need|can)(?:n['\u2019]t| not)"
    r"|you (?:don['\u2019]?t|do not) (?:have|need) to"
    r"|(?:there['\u2019]s |there is )?no need to|i (?:don['\u2019]?t|do not|never|wouldn['\u2019]t|would not"
    r"|didn['\u2019]?t|did not) (?:want|need|wish|like|ask|say|tell|mean)"
    r"|i (?:would|['\u2019]d) rather not|i['\u2019]d rather (?:you )?(?:not|didn['\u2019]?t)|let['\u2019]s not"
    r"|under no circumstances|by no means|stop|quit|refrain from|avoid)\b"
    r"(?! (?:forget|worry|mind|hesitate|you\b(?! to\b)|only|just|bother to ask)))",
    re.IGNORECASE,
)
_ANSWERING = re.compile(r"\W*(?:no|nope|nah|not that)\b", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"(?:no|nope|don't|do not|no don't|no no|please don't|don't do (?:that|it)|never ?mind|forget (?:it|that)"
    r"|(?:cancel|scrap|scratch) (?:that|it)|leave it"
    r"|(?:i(?: have|'ve)? )?changed my mind|let's not|stop|stop it|not)"
)
_CORRECTED = re.compile(
    r"(?:\bno|\bsorry|\bi mean|\bi meant|\bactually|\bwait|\bscratch that|\binstead|\brather)\W*$", re.IGNORECASE
)
_LATER = re.compile(
    r"\b(?:later|in (?:a|the) (?:minute|moment|while|bit|second|morning|afternoon|evening|few \w+)|in a few"
    r""
    r"|at (?:night|sunset|sunrise|dawn|dusk|bedtime|dinner(?:time)?|lunch(?:time)?|breakfast)|when(?:ever)?"
    r"|as soon as (?!possible|you can)|once"
    r"|after|before|until|till|unless"
    r"|(?<!wonder )(?<!wondering )(?<!know )(?<!see )(?<!ask )(?<!mind )(?<!check )(?<!nice )"
    r"(?<!great )(?<!good )(?<!grateful )(?<!it )if)\b(?! you)",
    re.IGNORECASE,
)
_NOW = frozenset(("now", "right now", "today", "this morning", "this afternoon", "this evening"))
_ASKED = re.compile(
    r"\W*(?:and |but |so |hey |okay )*(?:did|have|has|had|was|were|is|are)(?:n['\u2019]t)?"
    r" (?:you|i|we|he|she|it|the|there|my|all|somebody)\b",
    re.IGNORECASE,
)
"""How questions begin that ask what is or was, and wish for nothing: "did you turn off the light?"."""
_TEMPORAL = frozenset(
    (
        ValueKind.DATE,
        ValueKind.TIME,
        ValueKind.DATE_TIME,
        ValueKind.INTERVAL,
        ValueKind.DURATION,
        ValueKind.RECURRENCE,
    )
)
_OPPOSITES = (
    ("on", "off"),
    ("up", "down"),
    ("open", "close"),
    ("lock", "unlock"),
    ("raise", "lower"),
    ("start", "stop"),
)


def denies(text: str) -> bool:
    """Return whether a wish is a denial: "don't turn on the light"."""
    return _DENIED.match(text) is not None


def target_of(agent: Agent, understanding: Understanding, text: str) -> str | None:
    """Return the agent's intent of a text; None without, or if denied."""
    name = agent.intent_named(understanding.intent)
    if name is None or understanding.confidence < MIN_CONFIDENCE:
        return None
    if _is_denied(understanding, text):
        return None
    only_asks = _ASKED.match(text) is not None and _acts_at_once(agent, name)
    # "Is my bike ready?" asks for an intent whose own sentences ask so.
    return None if only_asks and not any(map(_ASKED.match, agent.sentences.get(name, ()))) else name


def divide(agent: Agent, event: Understood, form: Form | None) -> tuple[Understood, ...]:
    """Divide a turn into wishes, without denied and corrected ones.

    Parts that ask for the same, and do not contradict each other, are one wish: "I have a toothache, can I come on
    Tuesday?".

    Args:
        agent: by which the dialog is held.
        event: the turn.
        form: the intent under way; None: none.

    Returns:
        The turn alone where it has one wish, or where none is for the agent.
    """
    readings = event.understanding.readings
    if len(readings) < 2:
        return (event,)
    parts = [_part(event, reading) for reading in readings]
    targets = [target_of(agent, part.understanding, part.text) for part in parts]
    under_way = form.intent if form is not None else None
    if not any(target not in {None, under_way} for target in targets):
        return (event,)
    wishes: list[tuple[str | None, Reading]] = []
    for number, (reading, part, target) in enumerate(zip(readings, parts, targets, strict=True)):
        is_left_out = target is None and _is_denied(part.understanding, part.text)
        is_corrected = any(targets[number + 1 : number + 2]) and _CORRECTED.search(part.text) is not None
        if is_left_out or is_corrected:
            continue
        if target is not None and wishes and wishes[-1][0] == target:
            before = wishes[-1][1]
            if not _contradict(agent, target, _part(event, before), part):
                slots = (*before.slots, *reading.slots)
                wishes[-1] = target, dataclasses.replace(before, slots=slots, end=reading.end)
                continue
        wishes.append((target, reading))
    return tuple(_part(event, reading) for _, reading in wishes) or (event,)


def _contradict(agent: Agent, intent: str, first: Understood, second: Understood) -> bool:
    """Return whether two parts of a turn contradict each other in a slot."""
    if agent.items_of(intent) is not None:
        return False
    one, other = (read_turn(agent, Form(intent), part).filled for part in (first, second))
    shared = one.keys() & other.keys()
    return any(one[name].value != other[name].value for name in shared)


def is_taken_back(agent: Agent, intent: str, text: str) -> bool:
    """Return whether a wish withdraws itself: "a latte, no, never mind"."""
    words = words_of(text)
    phrases = [phrase for phrase in read_phrases(words) if phrase.kind is not Kind.FILLER]
    if len(phrases) < 2 or phrases[-1].kind not in {Kind.NO, Kind.CANCEL}:
        return False
    said = [word.text for word in words[phrases[-1].start : phrases[-1].end]]
    is_of_intent = any(said[0] in sentence.lower().split() for sentence in agent.sentences.get(intent, ()))
    return _TAKEN_BACK.fullmatch(" ".join(said)) is not None and not is_of_intent


def is_for_later(agent: Agent, intent: str, event: Understood) -> bool:
    """Return whether an immediate wish is meant for later, or conditionally."""
    slots = agent.slots_of(intent).values()
    # A form that is asked for and confirmed tells what is done, and when.
    is_form = agent.intents[intent].confirm is not None and any(slot.required for slot in slots)
    if is_form or not _acts(agent, intent):
        return False
    temporal = {kind.value for kind in _TEMPORAL}
    if any(slot.type in temporal or slot.type == "text" for slot in slots):
        return False
    if any(_is_a_time(event.text, value) for value in event.understanding.values):
        return True
    found = _LATER.search(event.text)
    known = " ".join(agent.sentences.get(intent, ())).lower().split()
    return found is not None and found.start() > 0 and found[0].lower() not in known


def is_contradictory(text: str) -> bool:
    """Return whether a wish has opposites: "the hall on and the office off"."""
    said = {word.text for word in words_of(text)}
    return any(said.issuperset(pair) for pair in _OPPOSITES)


def _acts(agent: Agent, intent: str) -> bool:
    """Return whether an intent changes something."""
    fulfilment = agent.intents[intent].fulfilment
    return fulfilment is not None and fulfilment not in agent.safe_fulfilments | agent.talking_fulfilments


def _acts_at_once(agent: Agent, intent: str) -> bool:
    return agent.intents[intent].confirm is None and _acts(agent, intent)


def _is_denied(understanding: Understanding, text: str) -> bool:
    # "No, turn on the light" denies what was said before.
    is_negated = understanding.negated and understanding.kind == "command" and not _ANSWERING.match(text)
    return is_negated or denies(text)


def _is_a_time(text: str, value: Value) -> bool:
    if value.kind not in _TEMPORAL or text[value.start : value.end].lower() in _NOW:
        return False
    if value.kind is ValueKind.DURATION:
        return text[: value.start].rstrip().lower().endswith((" for", " after", " in"))
    return True


def _part(event: Understood, reading: Reading) -> Understood:
    """Return a reading of a turn as a turn of its own."""
    part = part_of(event, reading.start, reading.end)
    understanding = Understanding(
        reading.intent,
        reading.confidence,
        tuple(_moved(slot, reading.start) for slot in reading.slots),
        kind=reading.kind,
        negated=reading.negated,
        values=part.understanding.values,
    )
    return dataclasses.replace(part, understanding=understanding)


def part_of(event: Understood, start: int, end: int) -> Understood:
    """Return a part of a turn as a turn of its own, of the same intent."""
    understood = event.understanding
    values = tuple(
        dataclasses.replace(value, start=value.start - start, end=value.end - start)
        for value in understood.values
        if start <= value.start and value.end <= end
    )
    slots = tuple(_moved(slot, start) for slot in understood.slots if start <= slot.start and slot.end <= end)
    understanding = dataclasses.replace(understood, slots=slots, values=values, readings=())
    return dataclasses.replace(event, text=event.text[start:end], understanding=understanding, answer="", passage="")


def _moved(slot: Slot, by: int) -> Slot:
    resolved = slot.resolved
    if resolved is not None:
        resolved = dataclasses.replace(resolved, start=resolved.start - by, end=resolved.end - by)
    return dataclasses.replace(slot, start=slot.start - by, end=slot.end - by, resolved=resolved)
