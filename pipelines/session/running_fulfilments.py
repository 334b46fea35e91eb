"""Running fulfilments of a dialog: a task each, with exactly one result."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from pipelines.data.dialog import events
from pipelines.unexpected_errors import log_mistake

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.dialog.session import DialogSession

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.7
"""A fulfilment that lasts longer is told: "one moment"."""

MAX_ENDING_SECONDS = 10.0
"""Time that fulfilments have to end by themselves when their conversation is over."""


class Fulfilments:
    """Has the fulfilments of one dialog carried out.

    Args:
        dialog: names what carries them out.
        on_event: called with what becomes of them.
        on_end: called with the number of each when nothing more comes of it.
        on_outcome: called with the name of each that has ended, its seconds, and how: ``done``, ``failed``,
            ``cancelled``.
    """

    def __init__(
        self,
        dialog: DialogSession,
        on_event: Callable[[events.Event], object],
        on_end: Callable[[int], None],
        on_outcome: Callable[[str, float, str], None],
    ) -> None:
        self._dialog, self._on_event, self._on_end, self._on_outcome = dialog, on_event, on_end, on_outcome
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, fulfil: Fulfil) -> None:
        """Begin to carry a fulfilment out."""
        task = asyncio.create_task(self._run(fulfil), name=_name(fulfil.number))
        self._tasks.add(task)
        task.add_done_callback(partial(self._forget, fulfil.number))

    def cancel(self, number: int) -> None:
        """End a fulfilment that the caller has interrupted."""
        for task in self._tasks:
            if task.get_name() == _name(number):
                task.cancel()

    async def wait(self) -> None:
        """Wait until none is under way; one that takes too long is given up."""
        if not self._tasks:
            return
        await asyncio.wait(tuple(self._tasks), timeout=MAX_ENDING_SECONDS)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _forget(self, number: int, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._on_end(number)

    async def _run(self, fulfil: Fulfil) -> None:
        waiting = self._loop.call_later(WAIT_SECONDS, self._ask_to_wait, fulfil.number)
        is_over, outcome = False, "failed"
        began = self._loop.time()
        try:
            async for event in self._dialog.fulfillers[fulfil.name].carry_out(fulfil, self._dialog.id):
                waiting.cancel()
                is_over = is_over or not isinstance(event, events.Progressed)
                outcome = "done" if isinstance(event, events.Fulfilled) else outcome
                self._on_event(event)
        except asyncio.CancelledError:
            # Nobody knows whether it was carried out: that is said where the dialog goes on, and not that it failed.
            outcome, is_over = "cancelled", True
            raise
        except Exception as error:  # noqa: BLE001 - the dialog goes on
            log_mistake(logger, "a fulfilment failed", error)
        finally:
            waiting.cancel()
            self._on_outcome(fulfil.name, self._loop.time() - began, outcome)
            if not is_over:
                self._on_event(events.FulfilmentFailed(self._dialog.clock(), fulfil.number))

    def _ask_to_wait(self, number: int) -> None:
        self._on_event(events.Progressed(self._dialog.clock(), number))


def _name(number: int) -> str:
    return f"fulfilment-{number}"
