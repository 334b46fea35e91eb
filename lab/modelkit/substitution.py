"""Puts other values into the slots of an utterance: the same sentence with another city is as good an example."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.bert.slots import Slot
from modelkit.nlu import Utterance

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence


def collect_values(
    utterances: Iterable[Utterance], listed: Mapping[str, Sequence[str]] | None = None
) -> dict[str, tuple[str, ...]]:
    """Gathers the values that each slot takes in ``utterances`` and those that are listed for it, each once."""
    values: dict[str, dict[str, None]] = {name: dict.fromkeys(texts) for name, texts in (listed or {}).items()}
    for utterance in utterances:
        for slot in utterance.slots:
            values.setdefault(slot.name, {})[utterance.text[slot.start : slot.end]] = None
    return {name: tuple(texts) for name, texts in values.items()}


def substitute_values(
    utterance: Utterance, values: Mapping[str, Sequence[str]], share: float, rng: random.Random
) -> Utterance:
    """Gives each slot, with probability ``share``, another of its values."""
    text, slots, done = "", [], 0
    for slot in utterance.slots:
        value = utterance.text[slot.start : slot.end]
        if rng.random() < share and values.get(slot.name):
            value = rng.choice(values[slot.name])
        text += utterance.text[done : slot.start]
        slots.append(Slot(slot.name, len(text), len(text) + len(value)))
        text += value
        done = slot.end
    return Utterance(text + utterance.text[done:], utterance.intent, tuple(slots))
