"""Intent and slots of a turn, and of each part of it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from pipelines.data.understanding import NO_INTENT, Reading, Slot, Understanding, UnderstandingOptions
from pipelines.text.clauses import Clause, split_clauses
from pipelines.text.values import find_values, resolve

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Awaitable, Callable, Sequence

    from pipelines.data.predictions import IntentPrediction, SlotSpan
    from pipelines.data.values import Value
    from pipelines.models.ports import IntentModel


MIN_CLAUSE_CONFIDENCE = 0.6
"""Least confidence in the intents of two clauses that are taken for two wishes."""


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
