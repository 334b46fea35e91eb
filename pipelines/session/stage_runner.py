"""Runner of a conversation's stages, a task each."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from pipelines.models.recovery import Recovery
from pipelines.turns import events
from pipelines.unexpected_errors import MISTAKE, log_mistake

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pipelines.data.recognition import Timing
    from pipelines.data.stages import StageOutput
    from pipelines.models.ports import TurnModels
    from pipelines.stages.registry import Stage, StageRequest

logger = logging.getLogger(__name__)


class StageRunner:
    """The running stages of a conversation.

    Args:
        on_event: called with each output of a stage, with its end, and when its model was lost and is back.
        on_failure: called with why a stage failed, and the event for the turn.
        observe: called with the turn, the stage and what it cost, when a stage has finished.
    """

    def __init__(
        self,
        on_event: Callable[[events.StageYielded | events.StageFinished | events.StageLost | events.StageResumed], None],
        on_failure: Callable[[ModelError, events.StageFailed], None],
        observe: Callable[[int, str, Timing | None], None] = lambda *_: None,
    ) -> None:
        self._on_event, self._on_failure, self._observe = on_event, on_failure, observe
        self._tasks: dict[tuple[int, int, str], asyncio.Task[None]] = {}

    def start(
        self,
        stage: Stage,
        turn: int,
        speculation: int,
        request: StageRequest,
        models: TurnModels,
        give_way: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Start a stage for a speculation of a turn's text, behind what it gives way to."""
        key = (turn, speculation, stage.name)

        async def run() -> None:
            if give_way is not None:
                await give_way()
            await self._run(stage, key, request, models)

        task = asyncio.create_task(run(), name=f"{stage.name}-{turn}")
        self._tasks[key] = task
        task.add_done_callback(partial(self._forget, key))

    def cancel(self, turn: int, speculation: int, stage: str) -> None:
        """Cancel a stage; its models answer all the same, up to the deadline."""
        task = self._tasks.get((turn, speculation, stage))
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def cancel_all(self) -> None:
        """Cancel all stages."""
        for task in self._tasks.values():
            task.cancel()

    async def wait(self) -> None:
        """Wait until all stages are over."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks.values()))

    async def _run(self, stage: Stage, key: tuple[int, int, str], request: StageRequest, models: TurnModels) -> None:
        recovery = Recovery()
        output: StageOutput | None = None
        try:
            while output is None:
                try:
                    output = await self._run_once(stage, key, request, models)
                except ModelError as error:
                    if not recovery.may_follow(error):
                        raise
                    self._on_event(events.StageLost(*key))
                    await recovery.wait(error)
                    self._on_event(events.StageResumed(*key, asyncio.get_running_loop().time()))
                    request = replace(request, due=None, reply_due=None)
        except ModelError as error:
            self._on_failure(error, events.StageFailed(*key, str(error)))
        else:
            self._observe(key[0], stage.name, output.timing)
            self._on_event(events.StageFinished(*key))

    async def _run_once(
        self, stage: Stage, key: tuple[int, int, str], request: StageRequest, models: TurnModels
    ) -> StageOutput:
        """Run a stage and tell of its outputs; return the last one."""
        output: StageOutput | None = None
        async for output in stage.run(request, models):
            self._on_event(events.StageYielded(*key, output))
        assert output is not None, f"stage {stage.name} ended without an output"
        return output

    def _forget(self, key: tuple[int, int, str], task: asyncio.Task[None]) -> None:
        del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            log_mistake(logger, "a stage failed", error)
            self._on_failure(ModelError(MISTAKE), events.StageFailed(*key, MISTAKE))
