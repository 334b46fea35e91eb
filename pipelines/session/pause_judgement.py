"""Task that judges a pause, beside the replies."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from pipelines.models.contracts import END_OF_TURN
from pipelines.turns import events
from pipelines.unexpected_errors import log_mistake

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from pipelines.models.ports import TurnModels
    from pipelines.models.turn_end_port import EndOfTurnModel

logger = logging.getLogger(__name__)

MAX_JUDGING_SECONDS = 0.4
"""Time within which a judgement is of use: with that which comes before it, the silence rule's stop window is full."""


MAX_AHEAD_SECONDS = 0.15
"""Time for which a judgement has the cores to itself where they are short."""


class PauseJudge:
    """Asks the model of the end of a turn, one pause at a time.

    Args:
        on_event: called with each judgement.
        observe: called before with the probability, None where the model did not answer, and the seconds that it took.
        adjust: called with the text and the model's probability; returns the one that counts.
    """

    def __init__(
        self,
        on_event: Callable[[events.PauseJudged], None],
        observe: Callable[[float | None, float], None],
        adjust: Callable[[str, float], float] = lambda _, probability: probability,
    ) -> None:
        self._on_event, self._observe, self._adjust = on_event, observe, adjust
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, turn: int, pause: int, samples: npt.NDArray[np.float32], text: str, models: TurnModels) -> None:
        """Have a pause judged; see ``pipelines.models.turn_end_port``."""
        task = asyncio.create_task(self._run(turn, pause, samples, text, models), name=f"end-of-turn-{turn}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Give the judgement up that runs. The model answers all the same."""
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    async def give_way(self) -> None:
        """Wait for the judgement that runs, for a short time at most."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=MAX_AHEAD_SECONDS)

    async def wait(self) -> None:
        """Wait until nothing runs."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def _run(
        self, turn: int, pause: int, samples: npt.NDArray[np.float32], text: str, models: TurnModels
    ) -> None:
        began = self._loop.time()
        probability = await self._probability(samples, text, models)
        now = self._loop.time()
        self._observe(probability, now - began)
        if probability is not None:
            probability = self._adjust(text, probability)
        self._on_event(events.PauseJudged(turn, pause, probability, now))

    async def _probability(self, samples: npt.NDArray[np.float32], text: str, models: TurnModels) -> float | None:
        """Return the model's judgement; None without one in time."""
        try:
            model: EndOfTurnModel = models.get(END_OF_TURN)
        except KeyError:
            return None
        try:
            async with asyncio.timeout(MAX_JUDGING_SECONDS):
                return (await model.judge(samples, text, self._loop.time() + MAX_JUDGING_SECONDS)).probability
        except (ModelError, TimeoutError):
            return None
        except Exception as error:  # noqa: BLE001 - whatever happened, the silence rule holds
            log_mistake(logger, "a pause was not judged", error)
            return None
