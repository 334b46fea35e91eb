"""Turn of a dialog: event, states and actions."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import End, Fulfil, Listen, Say

if TYPE_CHECKING:
    from pipelines.data.dialog.actions import Action
    from pipelines.data.dialog.state import State
    from pipelines.data.recognition import Timing


class Cause(enum.Enum):
    """Cause of the agent's words."""

    TURN = "turn"
    BEGIN = "begin"
    NO_INPUT = "no_input"
    KEYS = "keys"
    FULFILMENT = "fulfilment"
    LATE = "late"


_CAUSES = {
    events.Began: Cause.BEGIN,
    events.Silence: Cause.NO_INPUT,
    events.Dtmf: Cause.KEYS,
    events.Progressed: Cause.FULFILMENT,
    events.Resumed: Cause.FULFILMENT,
    events.Fulfilled: Cause.FULFILMENT,
    events.FulfilmentFailed: Cause.FULFILMENT,
    events.Late: Cause.LATE,
}


@dataclass(frozen=True, slots=True)
class DialogTurn:
    """Step of a dialog by a turn or another event, previewed or committed.

    Attributes:
        event: what happened.
        before: the state that it was worked out on.
        after: the state that it leads to.
        actions: what is to be done about it.
        begun: the fulfilments among them that the service carries out.
        done: those that it has carried out ahead.
        timing: None: nothing is computed by a model.
        agent: name of the agent.
    """

    event: events.Event
    before: State
    after: State
    actions: tuple[Action, ...] = ()
    begun: tuple[Fulfil, ...] = ()
    done: tuple[Fulfil, ...] = ()
    timing: Timing | None = None
    agent: str = ""

    @property
    def cause(self) -> Cause:
        """Cause of the agent's words."""
        return _CAUSES.get(type(self.event), Cause.TURN)

    @property
    def text(self) -> str:
        """Words of the agent; "" for none."""
        return " ".join(action.text for action in self.actions if isinstance(action, Say))

    @property
    def fulfilled(self) -> tuple[Fulfil, ...]:
        """Fulfilments for the caller's program."""
        fulfilments = (it for it in self.actions if isinstance(it, Fulfil) and not it.is_check)
        return tuple(it for it in fulfilments if it not in (*self.begun, *self.done))

    @property
    def told_again(self) -> DialogTurn:
        """The step for a completion: nothing is asked for a second time."""
        return replace(self, done=(*self.done, *self.fulfilled))

    @property
    def asks_again(self) -> bool:
        """True if it asks for the same slot as before, of the same intent."""
        before, after = self.before.form, self.after.form
        if before is None or after is None or not after.asked:
            return False
        return (before.intent, before.asked) == (after.intent, after.asked)

    @property
    def is_missed(self) -> bool:
        """True if the caller was not understood."""
        before, after = self.before, self.after
        tries = [sum(state.form.tries.values()) if state.form is not None else 0 for state in (before, after)]
        gave_up = bool(before.misses) and not after.misses and bool(after.ended)
        return isinstance(self.event, events.Understood) and (
            after.misses > before.misses or tries[1] > tries[0] or gave_up
        )

    @property
    def ends(self) -> str:
        """End of the dialog: ``end`` or ``hand_over``; "": it goes on."""
        return next((action.reason for action in self.actions if isinstance(action, End)), "")

    @property
    def listens(self) -> Listen | None:
        """New expectation of the caller; None if unchanged."""
        return next((action for action in reversed(self.actions) if isinstance(action, Listen)), None)
