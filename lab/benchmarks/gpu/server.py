"""A Triton of our own on a generated repository."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from service.triton.process import TritonProcess
from service.triton.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

START_SECONDS = 90.0


class StartError(RuntimeError):
    """Triton did not come up; the message holds why."""


@dataclass(frozen=True, slots=True)
class Batches:
    """Triton's own count of what a model computed."""

    rows: int
    executions: int

    def mean_since(self, before: Batches) -> float:
        """Returns the mean rows of a batch since ``before``."""
        return (self.rows - before.rows) / max(1, self.executions - before.executions)


@contextlib.asynccontextmanager
async def serving(
    repository: Path, model: str, seconds: float | None = None, *, confined: bool = False, memory_mib: int | None = None
) -> AsyncIterator[str]:
    """Serves a repository while the body runs; yields the address when ``model`` is ready.

    Args:
        repository: a folder of models.
        model: one of them.
        seconds: how long it may take; None for ``START_SECONDS``.
        confined: whether Triton is left with what it needs alone, as the service leaves it; a machine that has that
            elsewhere is measured all the same.
        memory_mib: most memory of its own that each process may have, where it is confined; None for all there is.

    Raises:
        StartError: it did not become ready.
    """
    run = RunFolder.open(confined=confined, model_memory_bytes=memory_mib * 2**20 if memory_mib else None)
    process = None
    try:
        process = await TritonProcess.start(repository, run=run)
        ended = asyncio.create_task(process.wait())
        ready = asyncio.create_task(_until_ready(process.address, model))
        await asyncio.wait((ended, ready), timeout=seconds or START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        came_up = ready.done() and not ended.done()
        for task in (ended, ready):
            task.cancel()
        if not came_up:
            await process.stop()  # Then all that it said has been read.
            raise StartError(f"Triton did not serve {model}: {process.reason}")
        yield process.address
    finally:
        if process is not None:
            await process.stop()
        run.close()


async def count_batches(address: str, model: str) -> Batches:
    """Asks Triton what a model has computed so far."""
    async with triton.InferenceServerClient(address) as client:
        (found,) = (await client.get_inference_statistics(model)).model_stats
        return Batches(found.inference_count, found.execution_count)


async def _until_ready(address: str, model: str) -> None:
    async with triton.InferenceServerClient(address) as client:
        while True:
            with contextlib.suppress(InferenceServerException):
                if await client.is_model_ready(model):
                    return
            await asyncio.sleep(0.2)
