"""Agents for tests."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import Action, End, Fulfil, Listen, Say
from pipelines.data.dialog.state import State
from pipelines.data.understanding import NO_INTENT, Slot, Understanding
from pipelines.dialog.agent.agent import Agent
from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.value_list import ValueList
from pipelines.dialog.machine import step
from pipelines.text.values import find_values, resolve

NOW = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)

SIZES = ValueList(("small", "medium", "large"), {"big": "large"})
DRINKS = ValueList(("latte", "mocha", "iced mocha", "iced coffee"), {})
ROASTS = ValueList(("light roast", "medium roast"), {})

BAR: dict[str, Any] = {
    "name": "bar",
    "begin": "Hello.",
    "parameters": {"house": "the bar"},
    "no_match": {"say": ["Sorry?", "What?"], "times": 2, "then": "end"},
    "intents": {
        "order": {
            "slots": {
                "drink": {"type": "closed", "required": True, "prompt": ["Which drink?", "Say {choices}."]},
                "size": {"type": "closed", "required": True, "prompt": "Which size?", "choices": True, "retries": 1},
                "roast": {"type": "closed"},
                "count": {"type": "number", "default": "1"},
            },
            "confirm": "{count} {size}[ {roast}] {drink}?",
            "fulfilment": "order",
            "response": "Done.",
            "opens": {"ordered": {"turns": 2, "seconds": 60}},
        },
        "hours": {
            "slots": {"day": {"type": "date"}},
            "response": [{"when": {"house": "closed"}, "say": "Never."}, {"say": "At nine[ on {day}]."}],
            "opens": {"asked_hours": {"turns": 1}},
            "follows": "asked_hours",
        },
        "wait": {"needs": "ordered", "response": "Two minutes."},
        "book": {
            "slots": {
                "date": {"type": "date", "required": True, "prompt": "Which day?"},
                "time": {"type": "time", "required": True, "prompt": "What time?", "default": "12:00", "retries": 0},
                "name": {"type": "text", "required": True, "prompt": "Which name?", "sensitive": True},
            },
            "confirm": "{date}, {name}?",
            "response": "Booked for {name}.",
            "heard_as": ["calendar_set"],
        },
        "person": {"response": "Of course.", "then": "hand_over"},
    },
}


def agent_of(form: dict[str, Any] = BAR) -> Agent:
    return Agent(AgentForm.model_validate(form), {"size": SIZES, "drink": DRINKS, "roast": ROASTS})


class Caller:
    """Holds a dialog: says things, and keeps what the agent does."""

    def __init__(self, agent: Agent | None = None, **parameters: str) -> None:
        self.agent = agent or agent_of()
        self.state = State()
        self.now = 0.0
        self.actions: tuple[Action, ...] = ()
        self(events.Began(0.0, parameters))

    def __call__(self, event: events.Event) -> str:
        """Tells the dialog of an event; returns what is said."""
        self.state, self.actions = step(self.agent, self.state, event)
        return self.said

    def say(
        self,
        text: str,
        intent: str = NO_INTENT,
        *slots: tuple[str, str],
        answer: str = "",
        today: str = NOW.date().isoformat(),
        **more: Any,
    ) -> str:
        """Says a text that the engine understands so; a slot is its name and its words, behind `=` another value."""
        self.now += 1
        values = find_values(text, NOW)
        found = []
        for name, described in slots:
            words, _, value = described.partition("=")
            at = text.index(words)
            resolved = resolve(text, at, at + len(words), values, NOW)
            found.append(Slot(name, value or words, words, at, at + len(words), resolved))
        confidence = 0.0 if intent == NO_INTENT else 0.9
        understanding = Understanding(
            **({"confidence": confidence} | more), intent=intent, slots=tuple(found), values=values
        )
        return self(events.Understood(self.now, text, understanding, answer, today=today))

    @property
    def said(self) -> str:
        return " ".join(action.text for action in self.actions if isinstance(action, Say))

    @property
    def listen(self) -> Listen:
        assert isinstance(self.actions[-1], Listen)
        return self.actions[-1]

    @property
    def fulfil(self) -> Fulfil:
        assert isinstance(self.actions[-1], Fulfil)
        return self.actions[-1]

    @property
    def end(self) -> str:
        assert isinstance(self.actions[-1], End)
        return self.actions[-1].reason

    @property
    def slots(self) -> dict[str, str]:
        assert self.state.form is not None
        return {name: filled.value for name, filled in self.state.form.slots.items()}
