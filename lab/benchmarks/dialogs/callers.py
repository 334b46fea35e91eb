"""Simulated callers of the coffee bar: people's recorded orders, and their recorded answers.

Each caller's order lacks the size, which the agent asks for. The answer is a recording of an order with a size, of the
same drink where there is one. Whatever it says beside the size counts as a change of mind. A wrong confirmation is
corrected in a synthetic voice, as people do; "yes" is synthetic as well, for the recordings have none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.dialogs.partner import NoReplyError, talking
from benchmarks.dialogs.voices import recorded

if TYPE_CHECKING:
    from pathlib import Path

    import vivavoce
    from benchmarks.dialogs.partner import Heard
    from benchmarks.dialogs.voices import Voice

ASKED = "size"
DRINK = "coffeeDrink"
MAX_TURNS = 10
CORRECTIONS = ("No, I want {}.", "No, make it {}.", "I said {}.", "No, {}, please.", "Actually, {}.")
YES = ("Yes.", "Yes, please.", "That's right.", "Correct.", "Yeah.")


@dataclass(frozen=True)
class Caller:
    """One caller.

    Attributes:
        order: recording of an order that lacks a size.
        answer: recording that says one.
        wanted: slots of the order in the end.
    """

    order: Path
    answer: Path
    wanted: dict[str, str]


@dataclass
class Call:
    """What became of a caller."""

    caller: Caller
    completed: bool = False
    ordered: dict[str, str] = field(default_factory=dict)
    corrections: int = 0
    lines: list[str] = field(default_factory=list)
    turn_seconds: list[float] = field(default_factory=list)


def callers(folder: Path, count: int) -> list[Caller]:
    """Reads callers from recorded commands, spread over all of them.

    Args:
        folder: with ``labels.json`` and the recordings in ``audio``.
        count: how many.
    """
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    without = [name for name in sorted(labels) if ASKED not in labels[name]["slots"]]
    having = [name for name in sorted(labels) if ASKED in labels[name]["slots"]]
    found = []
    for number, name in enumerate(without[at * len(without) // count] for at in range(min(count, len(without)))):
        slots = labels[name]["slots"]
        same = [other for other in having if labels[other]["slots"].get(DRINK) == slots.get(DRINK)] or having
        answer = same[number % len(same)]
        wanted = {**slots, **labels[answer]["slots"]}
        found.append(Caller(folder / "audio" / name, folder / "audio" / answer, wanted))
    return found


async def call(client: vivavoce.Client, agent: str, caller: Caller, voice: Voice, manner: int) -> Call:
    """Lets a caller order, until the order is carried out or the agent gives up."""
    made = Call(caller)
    async with talking(client, agent, spoken=True) as partner:
        samples, said = recorded(caller.order), caller.order.name
        for _ in range(MAX_TURNS):
            try:
                heard = await partner.say(samples)
            except NoReplyError as error:
                made.lines.append(str(error))
                break
            made.turn_seconds += heard.turn_seconds
            made.lines += [f"caller: {said}", f"heard: {heard.transcripts}", f"agent: {heard.said}"]
            if heard.fulfilments:
                made.ordered = dict(heard.fulfilments[-1].slots)
                made.completed = _is_right(made.ordered, caller.wanted)
                break
            if heard.ends:
                break
            if heard.dialog.asked == ASKED:
                samples, said = recorded(caller.answer), caller.answer.name
                continue
            said = _answer(heard, caller.wanted, made, manner)
            samples = recorded(caller.order) if not said else await voice.speak(said, manner)
            said = said or caller.order.name
    return made


def _answer(heard: Heard, wanted: dict[str, str], made: Call, manner: int) -> str:
    """Returns what the caller says next; "" to say the order again."""
    dialog = heard.dialog
    if dialog.asked or not dialog.intent:
        return f"{wanted[DRINK]}." if dialog.asked == DRINK else ""
    if dialog.confirming and _is_right(dict(dialog.slots), wanted):
        return YES[manner % len(YES)]
    made.corrections += 1
    for name, value in wanted.items():
        if dialog.slots.get(name) != value:
            # At "what shall I change?" the value alone is an answer.
            return CORRECTIONS[made.corrections % len(CORRECTIONS)].format(value) if dialog.confirming else f"{value}."
    extra = [name for name in dialog.slots if name not in wanted and name != "count"]
    return f"No, without {dialog.slots[extra[0]]}." if extra else YES[0]


def _is_right(slots: dict[str, str], wanted: dict[str, str]) -> bool:
    """Whether an order is what was wanted; without a number it is one."""
    return {**wanted, "count": "1"} == {"count": "1", **slots}
