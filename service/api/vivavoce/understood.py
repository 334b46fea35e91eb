"""Converters of understanding: its options and results."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from pipelines.data.understanding import UnderstandingOptions
from pipelines.data.values import ValueKind
from pipelines.errors import InvalidInputError
from pipelines.text.values import read_clock
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from pipelines.data.understanding import Reading, Slot, Understanding
    from pipelines.data.values import Value
    from vivavoce.v1 import conversation_pb2 as pb

MAX_INTENTS = 10

_KINDS = {
    "command": reply_pb2.UTTERANCE_KIND_COMMAND,
    "question": reply_pb2.UTTERANCE_KIND_QUESTION,
    "statement": reply_pb2.UTTERANCE_KIND_STATEMENT,
}
_VALUE_KINDS: dict[ValueKind, reply_pb2.ValueKind] = {
    kind: getattr(reply_pb2, f"VALUE_KIND_{kind.name}") for kind in ValueKind
}


def to_understanding_options(holder: pb.ConversationConfig | pb.AskRequest, prefix: str) -> UnderstandingOptions:
    """Read what is asked of understanding.

    Args:
        holder: of the fields.
        prefix: of the fields' names in errors.

    Raises:
        InvalidInputError: a field is out of range; the error names it.
    """
    if not 0 <= holder.max_intents <= MAX_INTENTS:
        message = f"{holder.max_intents} intents are not told: ask for 0 to {MAX_INTENTS}"
        raise InvalidInputError(f"{prefix}max_intents", "INTENTS_OUT_OF_RANGE", message)
    now = None
    if holder.HasField("current_time"):
        try:
            now = holder.current_time.ToDatetime(tzinfo=dt.UTC)
        except (OverflowError, ValueError) as error:
            message = "the clock shows no time of any calendar: send the present time, or leave it out"
            raise InvalidInputError(f"{prefix}current_time", "BAD_CURRENT_TIME", message) from error
    return UnderstandingOptions(read_clock(holder.time_zone, now, prefix), holder.max_intents)


def to_intent(understanding: Understanding | None) -> reply_pb2.Intent | None:
    """Write the intent of an utterance as a whole."""
    if understanding is None:
        return None
    intent = _intent(understanding)
    intent.candidates.extend(
        reply_pb2.IntentCandidate(name=name, confidence=confidence) for name, confidence in understanding.candidates
    )
    return intent


def to_slot(slot: Slot, transcript: str) -> reply_pb2.Slot:
    """Write a slot of a transcript."""
    return reply_pb2.Slot(
        name=slot.name,
        value=slot.value,
        text=slot.text,
        start=slot.start,
        end=slot.end,
        resolved=to_value(slot.resolved, transcript) if slot.resolved else None,
    )


def to_reading(reading: Reading, transcript: str) -> reply_pb2.Reading:
    """Write what one part of a transcript asks for."""
    return reply_pb2.Reading(
        intent=_intent(reading),
        slots=[to_slot(slot, transcript) for slot in reading.slots],
        start=reading.start,
        end=reading.end,
    )


def to_value(value: Value, transcript: str) -> reply_pb2.Value:
    """Write a value of a transcript."""
    return reply_pb2.Value(
        kind=_VALUE_KINDS[value.kind],
        value=value.value,
        unit=value.unit,
        alternative=value.alternative,
        text=transcript[value.start : value.end],
        start=value.start,
        end=value.end,
    )


def _intent(found: Understanding | Reading) -> reply_pb2.Intent:
    return reply_pb2.Intent(
        name=found.intent,
        confidence=found.confidence,
        kind=_KINDS.get(found.kind, reply_pb2.UTTERANCE_KIND_UNSPECIFIED),
        negated=found.negated,
    )
