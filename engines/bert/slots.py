"""A slot: what understanding finds in an utterance besides its intent."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Slot:
    """Slot: code points ``start`` to ``end`` (exclusive) of an utterance.

    Slots are equal when they stand at the same place under the same name, whatever their value.

    Attributes:
        value: the one of a closed slot's values that is meant; "" where the slot is open, and its value is the text.
    """

    name: str
    start: int
    end: int
    value: str = field(default="", compare=False)
