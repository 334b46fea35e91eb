"""The work on guesses at what was said: each stage of a guess is a task, given up when nobody waits for it."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from pipelines.deadline import answers_until
from pipelines.errors import ModelError
from pipelines.turns import events
from pipelines.unexpected_errors import MISTAKE, log_mistake

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from typing import TypeAlias

    from pipelines.messages import Stage
    from pipelines.stages.answering import AnswerSearch
    from pipelines.stages.understanding import Understanding

    Work: TypeAlias = Callable[[], Awaitable[Understanding | AnswerSearch]]


logger = logging.getLogger(__name__)


class Stages:
    """The stages under way in a conversation.

    Args:
        on_result: called with what came of a stage.
        on_failure: called with why a stage failed, and what the turn is to know of it.
    """

    def __init__(
        self,
        on_result: Callable[[events.StageFinished], None],
        on_failure: Callable[[ModelError, events.StageFailed], None],
    ) -> None:
        self._on_result, self._on_failure = on_result, on_failure
        self._tasks: dict[asyncio.Task[None], tuple[int, int]] = {}

    def start(self, stage: Stage, turn: int, guess: int, work: Work, due: float | None) -> None:
        """Begins a stage.

        Args:
            stage: which.
            turn: number of the turn.
            guess: number of the guess in it.
            work: begins what is to be done; not called where the stage is given up before.
            due: until when it is of use, on the loop's clock; None where nobody knows.
        """
        task = asyncio.create_task(self._run(stage, turn, guess, work, due), name=f"{stage.value}-{turn}")
        self._tasks[task] = (turn, guess)
        task.add_done_callback(partial(self._forget, stage))

    def keep(self, wanted: Collection[tuple[int, int]]) -> None:
        """Cancels the stages of all but these guesses, given as turn and guess.

        The models answer all the same, up to the deadline of the request.
        """
        for task, guess in self._tasks.items():
            if guess not in wanted and task is not asyncio.current_task():
                task.cancel()

    def cancel(self) -> None:
        """Cancels all of them."""
        for task in self._tasks:
            task.cancel()

    async def wait(self) -> None:
        """Waits until they are over."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def _run(self, stage: Stage, turn: int, guess: int, work: Work, due: float | None) -> None:
        try:
            with answers_until(due):
                result = await work()
        except ModelError as error:
            self._on_failure(error, events.StageFailed(turn, guess, stage, str(error)))
        else:
            self._on_result(events.StageFinished(turn, guess, result))

    def _forget(self, stage: Stage, task: asyncio.Task[None]) -> None:
        turn, guess = self._tasks.pop(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log_mistake(logger, "a stage failed", error)
            self._on_failure(ModelError(MISTAKE), events.StageFailed(turn, guess, stage, MISTAKE))
