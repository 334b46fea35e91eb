"""Session of a dialog: its state, previews of turns without side effects, and what was committed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.dialog import events
from pipelines.dialog.actions import End, Fulfil, Say
from pipelines.dialog.machine import step
from pipelines.dialog.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipelines.dialog.actions import Action
    from pipelines.dialog.agent.agent import Agent
    from pipelines.models.ports import Timing
    from pipelines.stages.understanding import Understanding


@dataclass(frozen=True, slots=True)
class DialogTurn:
    """What a turn of the caller would do to a dialog, or has done.

    Attributes:
        event: the turn.
        before: the state that it was worked out on.
        after: the state that it leads to.
        actions: what is to be done about it.
        timing: None: nothing is computed by a model.
    """

    event: events.Understood
    before: State
    after: State
    actions: tuple[Action, ...] = ()
    timing: Timing | None = None

    @property
    def text(self) -> str:
        """What the agent says; "" for nothing."""
        return " ".join(action.text for action in self.actions if isinstance(action, Say))

    @property
    def fulfilled(self) -> tuple[Fulfil, ...]:
        """What the caller's program is to carry out."""
        return tuple(action for action in self.actions if isinstance(action, Fulfil))

    @property
    def ends(self) -> str:
        """How the dialog ends with this turn: ``end`` or ``hand_over``; "": it goes on."""
        return next((action.reason for action in self.actions if isinstance(action, End)), "")


@dataclass(slots=True)
class DialogSession:
    """A dialog with one caller, over all of its turns.

    A fulfilment is told with the turn and carried out by the caller's program, so that it counts as done at once.

    Attributes:
        agent: by which it is held.
        clock: time in seconds, which never goes back.
        state: what was committed.
        greeting: what the agent says first; "" for nothing, and where the session goes on in another stream.
    """

    agent: Agent
    clock: Callable[[], float] = time.monotonic
    state: State = field(default_factory=State)
    greeting: str = ""

    def begin(self, parameters: Mapping[str, str] | None = None) -> None:
        """Begins the dialog.

        Args:
            parameters: session parameters beside those of the agent.
        """
        event = events.Began(self.clock(), parameters or {})
        self.state, actions = step(self.agent, self.state, event)
        self.greeting = " ".join(action.text for action in actions if isinstance(action, Say))

    def change(self, parameters: Mapping[str, str]) -> None:
        """Changes session parameters."""
        self.state, _ = step(self.agent, self.state, events.ParametersSet(self.clock(), parameters))

    def preview(self, text: str, understanding: Understanding, answer: str = "") -> DialogTurn:
        """Works out what a turn would do; nothing is changed, however often.

        Args:
            text: what was said or typed.
            understanding: of the text.
            answer: the sentence that answers it, from documents; "" where there is none.
        """
        return self._turn(events.Understood(self.clock(), text, understanding, answer))

    def commit(self, turn: DialogTurn) -> DialogTurn:
        """Lets a turn happen; works it out again where another one was committed since its preview."""
        if turn.before is not self.state:
            turn = self._turn(turn.event)
        self.state = turn.after
        return turn

    def _turn(self, event: events.Understood) -> DialogTurn:
        state, done = step(self.agent, self.state, event)
        actions = list(done)
        while actions and isinstance(fulfil := actions[-1], Fulfil):
            state, more = step(self.agent, state, events.Fulfilled(event.now, fulfil.number))
            actions += more
        return DialogTurn(event, self.state, state, tuple(actions))
