"""Reads labelled utterances: one JSON object a line with ``text``, ``intent`` and ``slots``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import Slot
from modelkit.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance with what it asks for; the slots stand in the order of the text and do not overlap."""

    text: str
    intent: str
    slots: tuple[Slot, ...]


def read_utterances(path: Path) -> list[Utterance]:
    """Reads a file of labelled utterances.

    A line is like ``{"text": "wake me at six", "intent": "alarm_set", "slots": [{"start": 11, "end": 14,
    "name": "time"}]}``; offsets count characters, the end is exclusive.

    Raises:
        DataError: a line is not of that form; the message names it.
    """
    utterances = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    utterances.append(_parse(line))
                except (ValueError, KeyError, TypeError) as error:
                    raise DataError(f"{path}, line {number}: {error!r}; a line needs text, intent and slots") from error
    return utterances


def _parse(line: str) -> Utterance:
    fields = json.loads(line)
    text = str(fields["text"])
    slots = sorted(
        (Slot(str(s["name"]), int(s["start"]), int(s["end"])) for s in fields["slots"]), key=lambda slot: slot.start
    )
    previous = 0
    for slot in slots:
        if not previous <= slot.start < slot.end <= len(text):
            raise ValueError(f"slot {slot.name} at {slot.start}-{slot.end} overlaps another or leaves the text")
        previous = slot.end
    return Utterance(text, str(fields["intent"]), tuple(slots))


def collect_labels(utterances: list[Utterance]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lists the intents and the BIO tags that occur, in the order that ``IntentLabels`` wants."""
    intents = tuple(sorted({utterance.intent for utterance in utterances}))
    names = sorted({slot.name for utterance in utterances for slot in utterance.slots})
    return intents, ("O", *(f"{edge}-{name}" for name in names for edge in "BI"))
