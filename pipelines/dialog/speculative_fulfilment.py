"""Speculative run of read-only fulfilments, before the turn is over."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pipelines.data.dialog.events import Fulfilled, FulfilmentFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.data.dialog.events import Progressed
    from pipelines.dialog.fulfilment import Fulfiller


MAX_AGE_SECONDS = 15.0
"""Since a fulfilment began; an older result is none, for a caller may think for long before the turn is over."""


class AheadFulfiller:
    """Speculation of another fulfiller, for one dialog.

    Args:
        fulfiller: carries fulfilments out that change nothing.
        clock: time in seconds, which never goes back.
    """

    def __init__(self, fulfiller: Fulfiller, clock: Callable[[], float]) -> None:
        self._fulfiller, self._clock = fulfiller, clock
        self._task: Fulfil | None = None
        self._began = 0.0
        self._running: asyncio.Task[Fulfilled | FulfilmentFailed | None] | None = None

    def begin(self, task: Fulfil, session: str) -> asyncio.Task[Fulfilled | FulfilmentFailed | None]:
        """Begin a fulfilment unless it runs; give up one with other slots.

        Args:
            task: what is to be done if the turn happens.
            session: the dialog's name among all dialogs.

        Returns:
            What runs; its result is None where the fulfilment failed.
        """
        if self._running is None or not self._is_fresh(task):
            self.cancel()
            self._task, self._began = task, self._clock()
            self._running = asyncio.create_task(self._run(task, session))
        return self._running

    def result_of(self, task: Fulfil) -> Fulfilled | FulfilmentFailed | None:
        """Return a finished fulfilment's result, or None."""
        running = self._running
        if running is None or not self._is_fresh(task) or not running.done() or running.cancelled():
            return None
        return running.result()

    def cancel(self) -> None:
        """Give up what runs."""
        if self._running is not None:
            self._running.cancel()
        self._task = self._running = None

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Progressed | Fulfilled | FulfilmentFailed]:
        """Yield the speculated result; what failed runs anew."""
        running = self._running if self._is_fresh(task) else None
        if running is not None:
            await asyncio.wait((running,))
        result = self.result_of(task)
        if result is not None:
            yield replace(result, now=self._clock())
            return
        async for event in self._fulfiller.carry_out(task, session):
            yield event

    def _is_fresh(self, task: Fulfil) -> bool:
        return self._task == task and self._clock() - self._began <= MAX_AGE_SECONDS

    async def _run(self, task: Fulfil, session: str) -> Fulfilled | FulfilmentFailed | None:
        result: Fulfilled | FulfilmentFailed | None = None
        try:
            async for event in self._fulfiller.carry_out(task, session):
                # What a check refuses is an answer; what has failed runs anew.
                if isinstance(event, Fulfilled) or (isinstance(event, FulfilmentFailed) and event.ask_again):
                    result = event
        except Exception:  # noqa: BLE001 - it runs anew, and fails there, where that is told
            return None
        return result
