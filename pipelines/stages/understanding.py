"""Intent and slots of a turn, and of each part of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pipelines.text.clauses import Clause, split_clauses
from pipelines.text.values import CallerClock, Value, ValueKind, find_values, resolve

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Awaitable, Callable, Sequence

    from pipelines.models.ports import IntentModel, IntentPrediction, SlotSpan, Timing

__all__ = ["NO_INTENT", "Reading", "Slot", "Understanding", "UnderstandingOptions", "Value", "ValueKind", "understand"]

NO_INTENT = "none"
"""Name of the intent of an utterance that fits none of the model's."""

MIN_CLAUSE_CONFIDENCE = 0.6
"""Least confidence in the intents of two clauses that are taken for two wishes."""


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


async def understand(
    model: IntentModel, text: str, due: float | None = None, options: UnderstandingOptions | None = None
) -> Understanding:
    """Find intents, slots and values of ``text``.

    Args:
        model: of intents and slots.
        text: what was said or typed.
        due: until when it is of use, on the loop's clock; None: no deadline.
        options: what the caller asks for; None: no more than intents and slots.

    Raises:
        ModelError: the model does not answer.
    """
    wanted = options or UnderstandingOptions()
    now = wanted.clock.now()
    values = find_values(text, now)
    clauses = split_clauses(text)
    whole, *parts = await _predict(model, [text, *(clause.of(text) for clause in clauses if len(clauses) > 1)], due)
    slots = _slots(text, whole.slots, 0, values, now)
    if not parts:
        clauses = []
    else:
        clauses, parts = await _settle(partial(_predict, model, due=due), text, whole, clauses, parts)
    readings = [
        Reading(
            part.intent,
            part.confidence,
            _slots(text, part.slots, clause.start, values, now),
            part.kind,
            part.negated,
            clause.start,
            clause.end,
        )
        for clause, part in zip(clauses, parts, strict=True)
    ] or [Reading(whole.intent, whole.confidence, slots, whole.kind, whole.negated, 0, len(text))]
    return Understanding(
        whole.intent,
        whole.confidence,
        slots,
        whole.timing,
        whole.kind,
        whole.negated,
        whole.candidates[: wanted.max_intents],
        tuple(readings),
        values,
        tuple(name for name, _ in whole.candidates),
    )


async def _predict(model: IntentModel, texts: Sequence[str], due: float | None) -> list[IntentPrediction]:
    return await asyncio.gather(*(model.predict(text, due) for text in texts))


async def _settle(
    predict: Callable[[Sequence[str]], Awaitable[list[IntentPrediction]]],
    text: str,
    whole: IntentPrediction,
    clauses: list[Clause],
    parts: list[IntentPrediction],
) -> tuple[list[Clause], list[IntentPrediction]]:
    """Join dependent clauses to the one before, and predict them anew.

    Returns:
        Nothing of both where one clause is left: the prediction of the whole text is that of the wish.
    """
    joined = [clauses[0]]
    before = parts[0]
    for clause, part in zip(clauses[1:], parts[1:], strict=True):
        crossed = any(slot.start < clause.start and joined[-1].end < slot.end for slot in whole.slots)
        if not crossed and _is_wish(before) and _is_wish(part):
            joined.append(clause)
            before = part
        else:
            joined[-1] = Clause(joined[-1].start, clause.end)
    if len(joined) == 1:
        return [], []
    known = dict(zip(clauses, parts, strict=True))
    missing = [clause for clause in joined if clause not in known]
    known.update(zip(missing, await predict([clause.of(text) for clause in missing]), strict=True))
    return joined, [known[clause] for clause in joined]


def _is_wish(part: IntentPrediction) -> bool:
    """Return whether a clause is a request, or a denial, by itself."""
    if part.intent != NO_INTENT:
        return part.confidence >= MIN_CLAUSE_CONFIDENCE
    return part.negated and part.kind == "command"


def _slots(
    text: str, spans: Sequence[SlotSpan], offset: int, values: tuple[Value, ...], now: dt.datetime
) -> tuple[Slot, ...]:
    return tuple(_slot(text, span, offset, values, now) for span in sorted(spans, key=lambda span: span.start))


def _slot(text: str, span: SlotSpan, offset: int, values: tuple[Value, ...], now: dt.datetime) -> Slot:
    start, end = span.start + offset, span.end + offset
    said = text[start:end]
    value = span.value or " ".join(said.lower().split()).strip(".,;:!?\"'()")
    return Slot(span.name, value, said, start, end, resolve(text, start, end, values, now))
