"""Readiness after whole turns were answered."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pipelines.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from service.sessions.readiness import ModelServer

logger = logging.getLogger(__name__)


class RehearsedModels:
    """Models that have answered whole turns before the service is ready.

    Args:
        models: the models.
        steps: what is done once they are warm, in order.
    """

    def __init__(self, models: ModelServer, *steps: Callable[[], Awaitable[None]]) -> None:
        self._models, self._steps = models, steps

    async def missing(self) -> Sequence[str]:
        """Return the names of the models that are not ready."""
        return await self._models.missing()

    async def warm_up(self) -> None:
        """Warm up the models and hold the first turns; errors show later in use."""
        await self._models.warm_up()
        for step in self._steps:
            try:
                await step()
            except (ModelError, FileNotFoundError) as error:
                logger.warning("the first turn may be late: %s", error)
