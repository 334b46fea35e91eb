"""Predictions of the models of intents and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.data.recognition import Timing


@dataclass(frozen=True, slots=True)
class SlotSpan:
    """One slot that the model found.

    Attributes:
        name: the slot's name.
        start: first code point in the text.
        end: one past the last code point.
        value: of a slot with a closed list of values the one that is meant; "" of an open one.
    """

    name: str
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class IntentPrediction:
    """Result of the intent and slot model.

    Attributes:
        intent: name of the intent, "none" where none fits.
        confidence: probability of the most likely intent, 0 to 1.
        slots: its details.
        timing: what it cost.
        kind: ``command``, ``question`` or ``statement``; "" where the engine does not tell.
        negated: whether what is said is denied.
        candidates: the most likely intents with their probabilities, the best first; empty where the engine does not
            tell.
    """

    intent: str
    confidence: float
    slots: tuple[SlotSpan, ...]
    timing: Timing
    kind: str = ""
    negated: bool = False
    candidates: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Place of an answer in a document.

    Attributes:
        start: first code point of the answer, or None when the document does not hold one.
        end: one past the last code point, or None.
        score: probability that the span is the answer.
        timing: what it cost.
    """

    start: int | None
    end: int | None
    score: float
    timing: Timing
