"""Reload of one model whose process died or hangs, beside the others."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from pipelines.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

logger = logging.getLogger(__name__)

MAX_MENDS = 8
"""Models that one Triton loads anew: it keeps some memory of each process that has ended by itself."""

MEND_SECONDS = 20.0
"""A model that is not loaded anew within this time is not waited for: Triton is started again."""


class Client(Protocol):
    """Operations of Triton's client."""

    mending: set[str]

    def lose(self, models: Iterable[str]) -> None:
        """Fail what models are asked now."""

    async def reload(self, model: str) -> None:
        """Load a model anew; raise ModelError when that does not work."""


class Supervisor(Protocol):
    """Operations of the supervisor of a Triton of our own."""

    @property
    def starts(self) -> int:
        """Number of Triton's starts."""

    def has_process(self, model: str) -> bool:
        """Return whether a model runs in a process of its own."""

    async def end_processes(self, model: str) -> None:
        """End the processes of a model."""

    def restart(self, verdict: str) -> None:
        """Have Triton started again."""


class Mender:
    """Mends models of a Triton of our own.

    Args:
        supervisor: what runs Triton.
        users: names the models that are asked for what a model computes; none for one that is only being tried.
        client: the connection to Triton.
    """

    def __init__(self, supervisor: Supervisor, users: Callable[[str], Collection[str]], client: Client) -> None:
        self._supervisor, self._users, self._client = supervisor, users, client
        self._mends: dict[int, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def mend(self, model: str) -> bool:
        """Begin to mend a model; may be called again meanwhile.

        Returns:
            Whether it is mended: it is, if it is in service.
        """
        users = self._users(model)
        if not users:
            return False
        if model in self._client.mending:
            return True
        start = self._supervisor.starts
        mends = self._mends.get(start, 0)
        if mends >= MAX_MENDS or not self._supervisor.has_process(model):
            self._supervisor.restart(f"the process of the model {model} has ended, or hangs")
            return True
        self._mends = {start: mends + 1}
        self._client.mending.add(model)
        self._client.lose(users)
        task = asyncio.create_task(self._mend(model, start), name=f"mend-{model}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def close(self) -> None:
        """Give up what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _mend(self, model: str, start: int) -> None:
        logger.error("the process of the model %s has ended, or hangs: the model is loaded anew", model)
        try:
            async with asyncio.timeout(MEND_SECONDS):
                # One that hangs would hold up the requests that wait for it.
                await self._supervisor.end_processes(model)
                await self._client.reload(model)
        except (ModelError, TimeoutError) as error:
            if self._supervisor.starts == start:
                self._supervisor.restart(
                    f"the model {model} cannot be loaded anew ({str(error) or 'it takes too long'})"
                )
        else:
            logger.info("the model %s is loaded anew", model)
        finally:
            self._client.mending.discard(model)
