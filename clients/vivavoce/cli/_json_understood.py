"""What an utterance means, as JSON: kind, readings and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vivavoce import Intent, Reading, Reply, Slot, Value


def understood(reply: Reply) -> Mapping[str, object]:
    """Makes the keys `kind`, `negated`, `candidates`, `readings` and `values` of a reply; none without an intent."""
    intent = reply.intent
    if intent is None:
        return {}
    candidates = [{"name": one.name, "confidence": round(one.confidence, 4)} for one in intent.candidates]
    return {
        "kind": _kind(intent),
        "negated": intent.negated,
        **({"candidates": candidates} if candidates else {}),
        "readings": [_reading(reading) for reading in reply.readings],
        "values": [_value(value) for value in reply.values],
    }


def _kind(intent: Intent) -> str | None:
    return None if intent.kind.value == "UNSPECIFIED" else intent.kind.value.lower()


def _reading(reading: Reading) -> Mapping[str, object]:
    intent = reading.intent
    return {
        "intent": {"name": intent.name, "confidence": round(intent.confidence, 4)},
        "kind": _kind(intent),
        "negated": intent.negated,
        "slots": [_slot(slot) for slot in reading.slots],
        "start": reading.start,
        "end": reading.end,
    }


def _slot(slot: Slot) -> Mapping[str, object]:
    resolved = {} if slot.resolved is None else {"resolved": _value(slot.resolved)}
    return {"name": slot.name, "value": slot.value, "text": slot.text, **resolved}


def _value(value: Value) -> Mapping[str, object]:
    told = {"kind": value.kind.value.lower(), "value": value.value, "text": value.text}
    extra = {"unit": value.unit, "alternative": value.alternative}
    return {**told, **{name: text for name, text in extra.items() if text}, "start": value.start, "end": value.end}
