"""When a command counts as accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import NO_INTENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from modelkit.evaluation.command_data import Command
    from modelkit.evaluation.engines import Turn


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a command fared.

    Attributes:
        labelled: number of its slots.
        intent_right: whether it was understood as what it is.
        missing: labelled slots that did not come.
        wrong: labelled slots that came with another value, alone or beside the right one.
        extra: slots that came and are not labelled.
        heard: whether every labelled value stands in the transcript, both normalized.
    """

    labelled: int
    intent_right: bool
    missing: tuple[str, ...]
    wrong: tuple[str, ...]
    extra: tuple[str, ...]
    heard: bool

    @property
    def accepted(self) -> bool:
        """Whether the intent is right and every labelled slot came with exactly its value.

        Slots that nobody labelled do not count against it, as in Picovoice's Speech-to-Intent Benchmark.
        """
        return self.intent_right and not self.missing and not self.wrong

    @property
    def score(self) -> float:
        """Share of what is right among the intent and the labelled slots: 1 for an accepted command alone."""
        right = self.intent_right + self.labelled - len(self.missing) - len(self.wrong)
        return right / (1 + self.labelled)


def judge(command: Command, turns: Sequence[Turn], normalize: Callable[[str], str]) -> Verdict:
    """Compares what was understood with what was said.

    A recording that was cut into several turns is judged by all of them together: their slots are put together, and
    every turn that was understood at all must have the labelled intent.

    Args:
        command: what was said.
        turns: what was understood.
        normalize: drops what transcripts may differ in.
    """
    transcript = f" {normalize(' '.join(turn.transcript for turn in turns))} "
    intents = {turn.intent for turn in turns} - {NO_INTENT}
    values: dict[str, set[str]] = {}
    for turn in turns:
        for name, value in turn.slots:
            values.setdefault(name, set()).add(value.strip())
    right = {name: {value.strip()} for name, value in command.slots.items()}
    return Verdict(
        labelled=len(right),
        intent_right=intents == {command.intent},
        missing=tuple(name for name in right if name not in values),
        wrong=tuple(name for name in right if name in values and values[name] != right[name]),
        extra=tuple(sorted(values.keys() - right.keys())),
        heard=all(f" {normalize(value)} " in transcript for value in command.slots.values()),
    )
