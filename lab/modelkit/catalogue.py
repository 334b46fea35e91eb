"""Intents and slots that an engine knows, read from its own files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.closed_slots import ClosedSlots
from engines.bert.intent_decoding import IntentLabels
from engines.bert.tag_priors import TagPriors
from modelkit.errors import EngineError
from modelkit.triton_models import MODEL_REPOSITORY, VERSION

if TYPE_CHECKING:
    from pathlib import Path

MIN_SHARE = 0.02
"""Share of an intent's training utterances that must have a slot for it to be listed with the intent."""


@dataclass(frozen=True, slots=True)
class KnownIntent:
    """An intent.

    Attributes:
        name: as in a reply.
        slots: slots that often come with it, the most frequent first; None where the engine does not tell.
    """

    name: str
    slots: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class KnownSlot:
    """A slot.

    Attributes:
        name: as in a reply.
        values: all values that a closed slot can have; None for an open slot, whose value is what was said.
    """

    name: str
    values: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What an engine knows, in the order of its files."""

    intents: tuple[KnownIntent, ...]
    slots: tuple[KnownSlot, ...]

    def as_dict(self) -> dict[str, object]:
        """Convert to what JSON can hold."""
        return {
            "intents": [{"name": i.name, "slots": i.slots if i.slots is None else list(i.slots)} for i in self.intents],
            "slots": [{"name": s.name, "values": s.values if s.values is None else list(s.values)} for s in self.slots],
        }


def read_catalogue(engine: Path | None = None) -> Catalogue:
    """Read the intents and slots of an engine.

    Args:
        engine: an engine directory, as training and importing write it; None for the shipped engine.

    Raises:
        EngineError: there is no engine for intents, or its files are damaged.
    """
    folder = (MODEL_REPOSITORY if engine is None else engine / "triton") / "intent_slot_decode" / VERSION
    if not (folder / "labels.json").is_file():
        raise EngineError(
            f"{engine or MODEL_REPOSITORY} holds no engine for intents: name a directory that `vivavoce train nlu` or "
            "`vivavoce import` has written"
        )
    try:
        labels = IntentLabels.load(folder / "labels.json")
        values = _closed_values(folder / "slot_values.json")
        priors = TagPriors.load(path) if (path := folder / "tag_priors.npz").exists() else None
    except ValueError as error:
        raise EngineError(str(error)) from error
    intents = tuple(
        KnownIntent(name, None if priors is None else _slots_of(priors, number, labels))
        for number, name in enumerate(labels.intents)
    )
    slots = tuple(
        KnownSlot(name, tuple(values[name]) if name in values else None)
        for name in (*labels.slot_names, *(name for name in values if name not in labels.slot_names))
    )
    return Catalogue(intents, slots)


def _closed_values(path: Path) -> dict[str, list[str]]:
    ClosedSlots.load(path)  # checks the file
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _slots_of(priors: TagPriors, intent: int, labels: IntentLabels) -> tuple[str, ...]:
    shares = priors.slots_given_intent[intent]
    order = np.argsort(-shares, kind="stable")
    return tuple(labels.slot_names[slot] for slot in order if shares[slot] >= MIN_SHARE)
