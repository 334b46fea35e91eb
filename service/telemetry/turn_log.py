"""Turns in the log: how each reply went, never what was said."""

from __future__ import annotations

import collections
import logging
from typing import TYPE_CHECKING

from pipelines.data.messages import Reply
from pipelines.turns.effects import SpeculationFate
from pipelines.turns.observer import TurnObserver

if TYPE_CHECKING:
    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.data.messages import Message
    from pipelines.turns.state import TurnSettings

logger = logging.getLogger(__name__)


class TurnLog(TurnObserver):
    """Log of named conversations' replies, and counts of speculations."""

    def __init__(self) -> None:
        self._fates: collections.Counter[SpeculationFate] = collections.Counter()

    @property
    def speculations(self) -> str:
        """Speculations by fate, as text."""
        return ", ".join(f"{self._fates[fate]} {fate.value}" for fate in SpeculationFate)

    def sum_up(self, refused: int) -> None:
        """Log the totals of speculations and refused callers."""
        logger.info("speculations: %s; callers refused for want of room: %d", self.speculations, refused)

    def speculated(self, conversation: str, fate: SpeculationFate) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._fates[fate] += 1

    def replied(self, conversation: str, reply: Reply, settings: TurnSettings, now_seconds: float) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self._log(conversation, reply, now_seconds)

    def message_sent(self, conversation: str, message: Message, now_seconds: float) -> None:
        """See :class:`TurnObserver`."""
        if isinstance(message, Reply) and message.completes:
            self._log(conversation, message, now_seconds)

    def _log(self, conversation: str, reply: Reply, now_seconds: float) -> None:
        if conversation:
            logger.info(
                "conversation %s turn %d: %s in %.0f ms%s%s",
                conversation,
                reply.turn,
                reply.status.value,
                1000 * (now_seconds - reply.ended_at_seconds),
                " (speculated)" if reply.speculated else "",
                " (completed late)" if reply.completes else "",
                extra={
                    "fields": {
                        "conversation": conversation,
                        "turn": reply.turn,
                        "status": reply.status.value,
                        "reply_ms": round(1000 * (now_seconds - reply.ended_at_seconds)),
                        "speculated": reply.speculated,
                        "completes": reply.completes,
                        **(_of_dialog(reply.dialog) if reply.dialog is not None else {}),
                    }
                },
            )


def _of_dialog(turn: DialogTurn) -> dict[str, object]:
    """Return a dialog's course in names of its agent, without values and words."""
    before, after = turn.before.form, turn.after.form
    form = after if not turn.ends else before
    return {
        "agent": turn.agent,
        "cause": turn.cause.value,
        "intent": form.intent if form is not None else "",
        "asked": form.asked if form is not None else "",
        "confirming": form is not None and form.confirming,
        "asks_again": turn.asks_again,
        "missed": turn.is_missed,
        "fulfilments": ",".join(task.name for task in (*turn.done, *turn.begun, *turn.fulfilled)),
        "ends": turn.ends,
    }
