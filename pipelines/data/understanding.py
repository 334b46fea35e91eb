"""Understanding of a text: intents, slots, readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.values import CallerClock, Value

if TYPE_CHECKING:
    from pipelines.data.recognition import Timing

NO_INTENT = "none"
"""Name of the intent of an utterance that fits none of the model's."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One detail of an intent.

    Attributes:
        name: the slot's name.
        value: of a closed slot the one of its values that is meant, as its list writes it; else a normal form: lower
            case, single spaces, no punctuation around it.
        text: as it stands in the transcript.
        start: first code point in the transcript.
        end: one past the last code point.
        resolved: the date, time, amount … that it means; None where it means none.
    """

    name: str
    value: str
    text: str
    start: int
    end: int
    resolved: Value | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """Reading: the meaning of one part of an utterance.

    Attributes:
        intent: its name, :data:`NO_INTENT` when nothing fits.
        confidence: probability of the most likely intent, 0 to 1.
        slots: the details in the order in which they were said.
        kind: ``command``, ``question`` or ``statement``; "" where the engine does not tell.
        negated: whether what is said is denied.
        start: first code point of the part in the transcript.
        end: one past its last code point.
    """

    intent: str
    confidence: float
    slots: tuple[Slot, ...]
    kind: str
    negated: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Understanding:
    """Understanding of a turn.

    Attributes:
        intent: its name, :data:`NO_INTENT` when nothing fits.
        confidence: probability of the most likely intent, 0 to 1.
        slots: the details in the order in which they were said.
        timing: what it cost; None when there was nothing to compute.
        kind: ``command``, ``question`` or ``statement``; "" where the engine does not tell.
        negated: whether what is said is denied.
        candidates: the most likely intents with their probabilities, as many as were asked for.
        readings: what each part of the utterance asks for, in the order of the text; one of a single wish.
        values: the dates, times, amounts … of the text, in its order.
        considered: names of the intents that the engine considered, the most likely first.
    """

    intent: str = NO_INTENT
    confidence: float = 0.0
    slots: tuple[Slot, ...] = ()
    timing: Timing | None = None
    kind: str = ""
    negated: bool = False
    candidates: tuple[tuple[str, float], ...] = ()
    readings: tuple[Reading, ...] = ()
    values: tuple[Value, ...] = ()
    considered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnderstandingOptions:
    """Options of understanding.

    Attributes:
        clock: tells what "tomorrow" is.
        max_intents: how many intents with probabilities are told, 0 for none beside the best.
    """

    clock: CallerClock = field(default_factory=CallerClock)
    max_intents: int = 0
