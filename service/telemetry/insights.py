"""Insights: how the dialogs of agents went, from JSON logs without texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_CONVERSATIONS = 1_000_000
MAX_PLACES = 10_000
"""Places in the dialogs of one agent: agents have fewer, and files may be forged."""
CONFIRMATION = "(confirmation)"
"""In place of a slot, where yes or no was expected."""
NO_SLOT = "(no slot)"

_Name = Annotated[str, msgspec.Meta(max_length=200)]


class _Line(msgspec.Struct):
    conversation: _Name
    turn: int
    agent: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    intent: _Name = ""
    asked: _Name = ""
    confirming: bool = False
    cause: _Name = ""
    asks_again: bool = False
    missed: bool = False
    fulfilments: str = ""
    ends: _Name = ""

    @property
    def place(self) -> tuple[str, str]:
        """Intent under way, and what the caller was to say."""
        return self.intent, CONFIRMATION if self.confirming else self.asked or (NO_SLOT if self.intent else "")


@dataclass(slots=True)
class Place:
    """A question of an agent: a slot that is asked for, or a confirmation.

    Attributes:
        asked: times that it was asked, repetitions left out.
        again: times that it was asked once more.
        missed: answers that were not understood.
        left: conversations that stopped there without an end.
        handed_over: dialogs that were handed over there.
    """

    asked: int = 0
    again: int = 0
    missed: int = 0
    left: int = 0
    handed_over: int = 0


@dataclass(slots=True)
class AgentInsights:
    """Counts of the dialogs of an agent.

    Attributes:
        conversations: that it held.
        turns: of callers.
        missed: turns that were not understood.
        fulfilments: times that each was begun.
        ends: dialogs by their end: ``end``, ``hand_over``, ``left`` in the middle of an intent, ``quiet`` outside.
        places: by intent and slot.
    """

    conversations: int = 0
    turns: int = 0
    missed: int = 0
    fulfilments: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    places: dict[tuple[str, str], Place] = field(default_factory=dict)

    def place(self, where: tuple[str, str]) -> Place:
        """Return the place, a new one where it was not met before."""
        if where not in self.places and len(self.places) >= MAX_PLACES:
            return Place()
        return self.places.setdefault(where, Place())


def read_insights(lines: Iterable[bytes]) -> dict[str, AgentInsights]:
    """Return insights by agent, from lines of JSON logs; others are passed over."""
    insights: dict[str, AgentInsights] = {}
    last: dict[tuple[str, str], _Line] = {}
    decoder = msgspec.json.Decoder(_Line)
    for raw in lines:
        if b'"agent"' not in raw:
            continue
        try:
            line = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        key = line.conversation, line.agent
        before = last.get(key)
        if before is None and len(last) >= MAX_CONVERSATIONS:
            continue
        agent = insights.setdefault(line.agent, AgentInsights())
        agent.conversations += before is None
        if before is None or before.turn != line.turn:
            _count(agent, before, line)
        last[key] = line
    for (_, name), line in last.items():
        _end(insights[name], line)
    return insights


def _count(agent: AgentInsights, before: _Line | None, line: _Line) -> None:
    if line.cause == "turn":
        agent.turns += 1
        agent.missed += line.missed
        if line.missed and before is not None and before.intent:
            agent.place(before.place).missed += 1
    agent.fulfilments.update(filter(None, line.fulfilments.split(",")))
    if line.ends or not line.intent or line.place[1] == NO_SLOT:
        return
    place = agent.place(line.place)
    if line.asks_again:
        place.again += 1
    elif before is None or before.place != line.place:
        place.asked += 1


def _end(agent: AgentInsights, line: _Line) -> None:
    end = line.ends or ("left" if line.intent else "quiet")
    agent.ends[end] += 1
    if line.intent and end in {"left", "hand_over"}:
        place = agent.place(line.place)
        place.left += end == "left"
        place.handed_over += end == "hand_over"
