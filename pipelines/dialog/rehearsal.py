"""Rehearsal of a script, compared with its expectations."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import End, Fulfil, Listen, Say
from pipelines.data.dialog.state import State
from pipelines.dialog.machine import step
from pipelines.dialog.script_comparison import Outcome, differences, text_differences

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.data.understanding import Understanding
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.scripts import Script, Turn

    Understand = Callable[[str, dt.datetime], Understanding]

CLOCK = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
"""When scripts are held, so that "tomorrow" is always the same day: a Monday at nine."""
MAX_SILENCES = 100
"""Times in one turn of a script that the agent is told of silence."""


@dataclass(slots=True)
class Rehearsal:
    """Outcome of a script.

    Attributes:
        script: its name.
        failures: what was expected and did not come, each in a sentence.
        lines: what the caller and the agent said.
    """

    script: str
    failures: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True if everything came as expected."""
        return not self.failures


def rehearse(agent: Agent, script: Script, understand: Understand) -> Rehearsal:
    """Play a script's conversation to its end, or to the first deviation.

    Args:
        agent: by which it is held.
        script: what happens, and what must come of it.
        understand: makes intent, slots and values of a text, at a time.
    """
    return _Stage(agent, understand, Rehearsal(script.name)).play(script)


@dataclass(slots=True)
class _Stage:
    agent: Agent
    understand: Understand
    outcome: Rehearsal
    state: State = field(default_factory=State)
    now: float = 0.0
    said: list[str] = field(default_factory=list)
    fulfilled: list[Fulfil] = field(default_factory=list)
    ended: str = ""
    patience: float | None = None

    def play(self, script: Script) -> Rehearsal:
        self._take(events.Began(self.now, script.parameters), None)
        self.outcome.failures += text_differences(script.begins, " ".join(self.said))
        for number, turn in enumerate(script.turns, 1):
            if self.outcome.failures:
                break
            if self.state.ended:
                self.outcome.failures.append(f"the dialog is over before turn {number}: end the script there")
                break
            self._play_turn(turn)
            self.outcome.failures += [f"turn {number}: {text}" for text in differences(turn, self._outcome())]
        return self.outcome

    def _play_turn(self, turn: Turn) -> None:
        self.said, self.fulfilled, self.ended = [], [], ""
        self.now += 1 + turn.wait_seconds
        if turn.parameters:
            self._take(events.ParametersSet(self.now, turn.parameters), turn)
        if turn.caller is not None:
            self.outcome.lines.append(f"caller: {turn.caller}")
            understood = self.understand(turn.caller, CLOCK + dt.timedelta(seconds=self.now))
            today = CLOCK.date().isoformat()
            self._take(events.Understood(self.now, turn.caller, understood, turn.answer, today=today), turn)
        elif turn.dtmf is not None:
            self.outcome.lines.append(f"caller: (keys {turn.dtmf})")
            self._take(events.Dtmf(self.now, turn.dtmf), turn)
        else:
            self._be_silent(turn.silence_seconds or 0.0, turn)

    def _be_silent(self, seconds: float, turn: Turn) -> None:
        self.outcome.lines.append(f"caller: (silent for {seconds:g} s)")
        for _ in range(MAX_SILENCES):
            if self.patience is None or self.patience > seconds or self.state.ended:
                break
            seconds -= self.patience
            self.now += self.patience
            self._take(events.Silence(self.now), turn)

    def _take(self, event: events.Event, turn: Turn | None) -> None:
        self.state, actions = step(self.agent, self.state, event)
        for action in actions:
            match action:
                case Say():
                    self.outcome.lines.append(f"agent: {action.text}")
                    self.said.append(action.text)
                case Listen():
                    self.patience = action.no_input_seconds
                case End():
                    self.ended = action.reason
                case Fulfil():
                    self.fulfilled += [] if action.is_check else [action]
                    self._take(self._result(action.number, turn), turn)

    def _result(self, number: int, turn: Turn | None) -> events.Fulfilled | events.FulfilmentFailed:
        """Return the scripted end of a turn's fulfilment; None: the dialog's start."""
        if turn is not None and turn.fulfilment == "failed":
            return events.FulfilmentFailed(self.now, number, turn.says, turn.ask_again, turn.offers)
        return events.Fulfilled(self.now, number, turn.result if turn else {}, turn.says if turn else "")

    def _outcome(self) -> Outcome:
        form = self.state.form
        return Outcome(
            " ".join(self.said),
            form.intent if form else "",
            form.asked if form else "",
            form.confirming if form else False,
            self.ended,
            ", ".join(action.name for action in self.fulfilled),
            self._slots(),
        )

    def _slots(self) -> dict[str, str]:
        """Return the slots of the intent under way; where it is done, those that it had."""
        if self.fulfilled:
            return dict(self.fulfilled[-1].slots)
        contexts = self.state.contexts
        filled = self.state.form.slots if self.state.form else contexts[-1].slots if contexts else {}
        return {name: slot.value for name, slot in filled.items()}
