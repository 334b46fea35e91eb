"""Rehearsal of a script: the dialog is held as it says, and what comes of it is compared."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.dialog import events
from pipelines.dialog.actions import End, Fulfil, Listen, Say
from pipelines.dialog.machine import step
from pipelines.dialog.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.scripts import Script, Turn
    from pipelines.stages.understanding import Understanding

    Understand = Callable[[str, dt.datetime], Understanding]

CLOCK = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
"""When scripts are held, so that "tomorrow" is always the same day: a Monday at nine."""
MAX_SILENCES = 100
"""Times in one turn of a script that the agent is told of silence."""


@dataclass(slots=True)
class Rehearsal:
    """What came of a script.

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
        """Whether all came as expected."""
        return not self.failures


def rehearse(agent: Agent, script: Script, understand: Understand) -> Rehearsal:
    """Holds the conversation of a script up to its end, or to the first turn in which something else came.

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
        self._compare_texts(script.begins)
        for number, turn in enumerate(script.turns, 1):
            if self.outcome.failures:
                break
            if self.state.ended:
                self.outcome.failures.append(f"the dialog is over before turn {number}: end the script there")
                break
            self._play_turn(turn)
            self._compare(turn)
            self.outcome.failures = [
                text if text.startswith("turn ") else f"turn {number}: {text}" for text in self.outcome.failures
            ]
        return self.outcome

    def _play_turn(self, turn: Turn) -> None:
        self.said, self.fulfilled, self.ended = [], [], ""
        self.now += 1 + turn.wait_seconds
        if turn.parameters:
            self._take(events.ParametersSet(self.now, turn.parameters), turn)
        if turn.caller is not None:
            self.outcome.lines.append(f"caller: {turn.caller}")
            understood = self.understand(turn.caller, CLOCK + dt.timedelta(seconds=self.now))
            self._take(events.Understood(self.now, turn.caller, understood, turn.answer), turn)
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
                    self.fulfilled.append(action)
                    self._take(self._result(action.number, turn), turn)

    def _result(self, number: int, turn: Turn | None) -> events.Fulfilled | events.FulfilmentFailed:
        """Returns how a fulfilment ends that a turn of the script starts; None: the beginning of the dialog."""
        if turn is not None and turn.fulfilment == "failed":
            return events.FulfilmentFailed(self.now, number)
        return events.Fulfilled(self.now, number, turn.result if turn is not None else {})

    def _compare(self, turn: Turn) -> None:
        form = self.state.form
        self._compare_texts(turn.agent)
        self._expect("intent", turn.intent, form.intent if form else "")
        self._expect("asked", turn.asked, form.asked if form else "")
        self._expect("confirming", turn.confirming, form.confirming if form else False)
        self._expect("ends", turn.ends, self.ended)
        names = ", ".join(action.name for action in self.fulfilled)
        self._expect("fulfilled", turn.fulfilled, names)
        slots = self._slots()
        for name, value in turn.slots.items():
            self._expect(f"slot {name}", value, slots.get(name, ""))
        for name in turn.empty:
            self._expect(f"slot {name}", "", slots.get(name, ""))

    def _slots(self) -> dict[str, str]:
        """Returns the slots of the intent under way; where it is done, those that it had."""
        if self.fulfilled:
            return dict(self.fulfilled[-1].slots)
        contexts = self.state.contexts
        filled = self.state.form.slots if self.state.form else contexts[-1].slots if contexts else {}
        return {name: slot.value for name, slot in filled.items()}

    def _compare_texts(self, wanted: tuple[str, ...]) -> None:
        said, at = " ".join(self.said), 0
        for text in wanted:
            found = said.lower().find(text.lower(), at)
            if found < 0:
                self.outcome.failures.append(f"agent: {text!r} was expected, {said!r} came")
                return
            at = found + len(text)

    def _expect(self, what: str, wanted: object, got: object) -> None:
        if wanted is not None and wanted != got:
            self.outcome.failures.append(f"{what}: {wanted!r} was expected, {got!r} came")
