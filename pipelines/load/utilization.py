"""Utilization: share of the reply time that was needed, for admission."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from pipelines.data.messages import Status
from pipelines.data.stages import ASR
from pipelines.turns.deadlines import speculation_seconds
from pipelines.turns.observer import TurnObserver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.data.messages import Reply
    from pipelines.data.stages import PlannedStage
    from pipelines.turns.state import TurnSettings

_MAX_KEPT = 1_000
_USUAL_SECONDS = 0.3
"""The budget of nearly all conversations. A reply that misses a smaller one says nothing of the machine."""


class Utilization(TurnObserver):
    """Collects the utilization of the last replies, see :func:`utilization`."""

    def __init__(self) -> None:
        self._collected: collections.deque[float] = collections.deque(maxlen=_MAX_KEPT)

    def replied(self, conversation: str, reply: Reply, settings: TurnSettings, now_seconds: float) -> None:  # noqa: ARG002
        """See :class:`TurnObserver`."""
        self.add(utilization(reply, now_seconds, settings, speculation_seconds(settings)))

    def add(self, value: float) -> None:
        """Collect one value."""
        self._collected.append(value)

    def take(self) -> list[float]:
        """Return the values since the last call, at most 1,000."""
        taken = list(self._collected)
        self._collected.clear()
        return taken


def utilization(reply: Reply, now_seconds: float, settings: TurnSettings, silence_seconds: float) -> float:
    """Return the share of the time for a reply that was needed: 1 is all of it.

    A reply that is worked out in the silence at the end of an utterance is early until the work outlasts the silence,
    and then late all at once. So what the work took is looked at as well, against the silence and the budget together.
    A budget counts as the usual one at least: a caller who gives less must not keep the others out.

    Args:
        reply: it is about to be sent.
        now_seconds: the conversation's clock.
        settings: of its conversation.
        silence_seconds: silence that the work was done in, if it was.
    """
    budget = max(settings.budget_seconds, _USUAL_SECONDS)
    # What came late because a model was lost does not tell how much the machine carries.
    late = 0.0 if reply.recovered else (now_seconds - reply.ended_at_seconds) / budget
    took = {stage: timing.total_seconds for stage, timing in reply.timings.items()}
    work = took.pop(ASR, 0.0) + _longest_path(took, settings.stages)
    needed = work / (budget + (silence_seconds if reply.speculated else 0.0))
    overrun = reply.status is Status.PARTIAL and settings.budget_seconds >= _USUAL_SECONDS
    return max(late, needed, 1.0 if overrun else 0.0)


def _longest_path(seconds: Mapping[str, float], stages: Sequence[PlannedStage]) -> float:
    """Return the duration of parallel stages on their longest path."""
    ends: dict[str, float] = {}
    for stage in stages:
        begin = max((ends[name] for name in stage.after), default=0.0)
        ends[stage.name] = begin + seconds.get(stage.name, 0.0)
    return max(ends.values(), default=0.0)
