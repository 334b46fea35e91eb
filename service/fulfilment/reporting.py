"""Fulfilments that fail are logged, and told to the dialog as failed."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.data.dialog.events import FulfilmentFailed
from service.fulfilment.http_calls import CallFailedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.data.dialog.events import Fulfilled, Progressed
    from pipelines.dialog.fulfilment import Fulfiller

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReportingFulfiller:
    """Reports the failures of another fulfiller.

    Attributes:
        fulfiller: does the work.
        agent: name of the agent, for the log.
        clock: time in seconds, which never goes back.
    """

    fulfiller: Fulfiller
    agent: str
    clock: Callable[[], float] = time.monotonic

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Progressed | Fulfilled | FulfilmentFailed]:
        """Carry a fulfilment out; see ``pipelines.dialog.fulfilment``."""
        try:
            async for event in self.fulfiller.carry_out(task, session):
                yield event
        except CallFailedError as error:
            logger.warning("the fulfilment %s of the agent %s failed: %s", task.name, self.agent, error)
            yield FulfilmentFailed(self.clock(), task.number)
