"""The service's reply as Wyoming's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wyoming.handle import Handled, NotHandled
from wyoming.intent import Entity, Intent, NotRecognized

from vivavoce.wyoming.errors import RefusedError

if TYPE_CHECKING:
    import vivavoce

NO_INTENT = "none"
NOT_UNDERSTOOD = "I found neither a command nor an answer in that."


def recognized(reply: vivavoce.Reply, context: dict[str, Any] | None) -> Intent | NotRecognized:
    """Answer `recognize`: the intent, its slots as entities, the answer as text.

    Args:
        reply: What the service understood.
        context: The client's own context, handed back.

    Raises:
        RefusedError: The intent did not come at all.
    """
    answer = None if reply.answer is None else reply.answer.text
    if reply.intent is None:
        raise _late()
    if reply.intent.name == NO_INTENT:
        return NotRecognized(text=answer or NOT_UNDERSTOOD, context=context)
    entities = [Entity(name=slot.name, value=slot.value) for slot in reply.slots]
    return Intent(name=reply.intent.name, entities=entities, text=answer, context=context)


def handled(reply: vivavoce.Reply, context: dict[str, Any] | None) -> Handled | NotHandled:
    """Answer `transcript`: the agent's words, the answer, or the intent.

    Args:
        reply: What the service understood.
        context: The client's own context, handed back.

    Raises:
        RefusedError: Nothing that could be said came at all.
    """
    if reply.dialog is not None:
        said = " ".join(each.speech_text for each in (reply, *reply.followed) if each.speech_text)
        return Handled(text=said, context=context)
    if reply.answer is not None:
        return Handled(text=reply.answer.text, context=context)
    if reply.intent is None:
        raise _late()
    if reply.intent.name == NO_INTENT:
        return NotHandled(text=NOT_UNDERSTOOD, context=context)
    return Handled(text=_understood(reply.intent.name, reply.slots), context=context)


def _understood(intent: str, slots: tuple[vivavoce.Slot, ...]) -> str:
    details = ", ".join(f"{_spoken(slot.name)} {slot.value}" for slot in slots)
    return f"Understood: {_spoken(intent)}{f', {details}' if details else ''}."


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _late() -> RefusedError:
    return RefusedError(
        "late", "The service has not understood it, however long it was waited for; its log says why. Try again."
    )
