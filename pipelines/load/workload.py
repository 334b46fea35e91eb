"""What all conversations together know: whether the machine is short of time, and what was counted."""

from __future__ import annotations

import asyncio
import collections
from typing import TYPE_CHECKING

from pipelines.load.bulk import BulkGate
from pipelines.load.precedence import Precedence
from pipelines.messages import Status
from pipelines.stages.registry import ASR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.messages import Reply
    from pipelines.stages.registry import PlannedStage
    from pipelines.turns.effects import GuessFate
    from pipelines.turns.state import TurnSettings

_KEPT_STRAINS = 1_000
_USUAL_SECONDS = 0.3
"""The budget that nearly everybody has. Who wants replies sooner says nothing of the machine by not getting them."""


class Workload:
    """Shared by the conversations of a service. Whoever watches the machine sets :attr:`short` and :attr:`share`.

    Attributes:
        share: seconds of audio that every conversation may send in a second while the machine is short of time, at
            least 1: nobody is kept from speaking.
        guesses: how many guesses at the text of an utterance that was not over yet had which fate.
        precedence: lets replies go before what others send.
        bulk: lets them go before bulk work.
        strains: how hard it was to reply in time, of the last replies that nobody has taken yet; see :func:`strain`.
    """

    def __init__(self, bulk: BulkGate | None = None) -> None:
        self.bulk = bulk or BulkGate()
        self.guesses: collections.Counter[GuessFate] = collections.Counter()
        self.strains: collections.deque[float] = collections.deque(maxlen=_KEPT_STRAINS)
        self.precedence = Precedence()
        self.share = 1.0
        self._eased = asyncio.Event()
        self._eased.set()

    @property
    def short(self) -> bool:
        """Whether the machine is short of time, so that nobody may have more of it than his share."""
        return not self._eased.is_set()

    @short.setter
    def short(self, short: bool) -> None:
        if short:
            self._eased.clear()
        else:
            self._eased.set()

    def take_strains(self) -> list[float]:
        """Returns the strains since the last call."""
        taken = list(self.strains)
        self.strains.clear()
        return taken

    async def wait_while_short(self, most_seconds: float) -> None:
        """Waits until the machine has time again, but no longer than that."""
        try:
            async with asyncio.timeout(most_seconds):
                await self._eased.wait()
        except TimeoutError:
            return


def strain(reply: Reply, now_seconds: float, settings: TurnSettings, silence_seconds: float) -> float:
    """Tells how much of the time that there was for a reply was needed: 1 is all of it.

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
    late = (now_seconds - reply.ended_at_seconds) / budget
    took = {stage: timing.total_seconds for stage, timing in reply.timings.items()}
    work = took.pop(ASR, 0.0) + _longest_path(took, settings.stages)
    needed = work / (budget + (silence_seconds if reply.speculated else 0.0))
    overrun = reply.status is Status.PARTIAL and settings.budget_seconds >= _USUAL_SECONDS
    return max(late, needed, 1.0 if overrun else 0.0)


def _longest_path(seconds: Mapping[str, float], stages: Sequence[PlannedStage]) -> float:
    """Returns how long stages take that run side by side, each behind those that it needs."""
    ends: dict[str, float] = {}
    for stage in stages:
        begin = max((ends[name] for name in stage.after), default=0.0)
        ends[stage.name] = begin + seconds.get(stage.name, 0.0)
    return max(ends.values(), default=0.0)
