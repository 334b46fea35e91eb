"""What an utterance means, as `Reply.to_dict` has it: kind, readings and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivavoce._reply import Intent, Reply, Slot
    from vivavoce._understood import Reading, Value


def understood(reply: Reply) -> dict[str, Any]:
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


def _reading(reading: Reading) -> dict[str, Any]:
    intent = reading.intent
    return {
        "intent": {"name": intent.name, "confidence": round(intent.confidence, 4)},
        "kind": _kind(intent),
        "negated": intent.negated,
        "slots": [slot_dict(slot) for slot in reading.slots],
        "start": reading.start,
        "end": reading.end,
    }


def slot_dict(slot: Slot) -> dict[str, Any]:
    """Makes a slot as `Reply.to_dict` has it."""
    resolved = {} if slot.resolved is None else {"resolved": _value(slot.resolved)}
    return {"name": slot.name, "value": slot.value, "text": slot.text, **resolved}


def _value(value: Value) -> dict[str, Any]:
    told = {"kind": value.kind.value.lower(), "value": value.value, "text": value.text}
    extra = {"unit": value.unit, "alternative": value.alternative}
    return {**told, **{name: text for name, text in extra.items() if text}, "start": value.start, "end": value.end}
