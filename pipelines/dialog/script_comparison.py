"""Compares what came of a turn with what its script expects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipelines.dialog.agent.scripts import Turn


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one turn.

    Attributes:
        said: what the agent said.
        intent: that the dialog is about; "" for none.
        asked: the slot that is asked for; "" for none.
        confirming: whether yes or no is expected.
        ends: how the dialog ended; "": it goes on.
        fulfilled: names of the fulfilments that were asked for, with ``, `` between them.
        slots: values of the intent under way, or of the one that was done last.
    """

    said: str = ""
    intent: str = ""
    asked: str = ""
    confirming: bool = False
    ends: str = ""
    fulfilled: str = ""
    slots: Mapping[str, str] = field(default_factory=dict)


def differences(wanted: Turn, got: Outcome) -> list[str]:
    """Return what was expected and did not come, each in a sentence."""
    return [*text_differences(wanted.agent, got.said), *_other_differences(wanted, got)]


def text_differences(wanted: Sequence[str], said: str) -> list[str]:
    """Return the texts missing in what was said, compared in order without case."""
    at = 0
    for text in wanted:
        found = said.lower().find(text.lower(), at)
        if found < 0:
            return [f"agent: {text!r} was expected, {said!r} came"]
        at = found + len(text)
    return []


def _other_differences(wanted: Turn, got: Outcome) -> Iterator[str]:
    pairs: list[tuple[str, object, object]] = [
        ("intent", wanted.intent, got.intent),
        ("asked", wanted.asked, got.asked),
        ("confirming", wanted.confirming, got.confirming),
        ("ends", wanted.ends, got.ends),
        ("fulfilled", wanted.fulfilled, got.fulfilled),
        *((f"slot {name}", value, got.slots.get(name, "")) for name, value in wanted.slots.items()),
        *((f"slot {name}", "", got.slots.get(name, "")) for name in wanted.empty),
    ]
    for what, expected, came in pairs:
        if expected is not None and expected != came:
            yield f"{what}: {expected!r} was expected, {came!r} came"
