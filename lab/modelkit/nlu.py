"""Reads labelled utterances: one JSON object a line with ``text``, ``intent`` and ``slots``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engines.bert.slots import Slot
from modelkit.errors import DataError
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_FORM = (
    'a line is like {"text": "wake me at six", "intent": "alarm", "slots": [{"start": 11, "end": 14, "name": "time"}]}'
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance with what it asks for; the slots stand in the order of the text and do not overlap.

    Attributes:
        place: file and line, for messages; "" where the utterance was made and not read.
    """

    text: str
    intent: str
    slots: tuple[Slot, ...]
    place: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """Two utterances with one key are duplicates; see :func:`text_key`."""
        return text_key(self.text)


def text_key(text: str) -> str:
    """Tells what a text says, whatever its case and spacing."""
    return " ".join(text.lower().split())


def read_utterances(path: Path) -> list[Utterance]:
    """Reads a file of labelled utterances.

    A line is like ``{"text": "wake me at six", "intent": "alarm_set", "slots": [{"start": 11, "end": 14,
    "name": "time"}]}``; offsets count characters, the end is exclusive.

    Raises:
        DataError: the file cannot be read, or a line is not of that form; the message names it.
    """
    utterances = []
    # Only line feeds end a line: a text may hold other separators, which ``splitlines`` would cut at.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            place = f"{path}, line {number}"
            try:
                utterances.append(_parse(line, place))
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(f"{place}: {_reason(error)}; {_FORM}") from error
    return utterances


def place_slots(text: str, slots: Iterable[Slot]) -> tuple[Slot, ...]:
    """Sorts the slots of an utterance.

    Raises:
        ValueError: one overlaps another, is empty or leaves the text.
    """
    ordered = sorted(slots, key=lambda slot: slot.start)
    previous = 0
    for slot in ordered:
        if not 0 <= slot.start < slot.end <= len(text):
            raise ValueError(f"slot {slot.name} at {slot.start}-{slot.end} leaves the text of {len(text)} characters")
        if slot.start < previous:
            raise ValueError(f"slot {slot.name} at {slot.start}-{slot.end} overlaps another")
        previous = slot.end
    return tuple(ordered)


def collect_labels(utterances: Sequence[Utterance]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lists the intents and the BIO tags that occur, in the order that ``IntentLabels`` wants."""
    intents = tuple(sorted({utterance.intent for utterance in utterances}))
    names = sorted({slot.name for utterance in utterances for slot in utterance.slots})
    return intents, ("O", *(f"{edge}-{name}" for name in names for edge in "BI"))


def _parse(line: str, place: str) -> Utterance:
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise TypeError("it holds no object")
    text, intent = _text(fields, "text"), _text(fields, "intent")
    if not isinstance(fields["slots"], list):
        raise TypeError("slots must be a list")
    return Utterance(text, intent, place_slots(text, (_slot(entry) for entry in fields["slots"])), place)


def _slot(entry: object) -> Slot:
    if not isinstance(entry, dict):
        raise TypeError("a slot must be an object")
    start, end = entry["start"], entry["end"]
    if not all(isinstance(offset, int) and not isinstance(offset, bool) for offset in (start, end)):
        raise TypeError("start and end of a slot must be whole numbers")
    return Slot(_text(entry, "name"), start, end)


def _text(fields: dict[str, object], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{name} must be a text that is not empty")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return f"no JSON ({error.msg})" if isinstance(error, json.JSONDecodeError) else str(error)
