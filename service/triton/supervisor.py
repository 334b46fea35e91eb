"""Keeps a Triton of our own running and at work, and gives up when it will not."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from service.triton.process import TritonProcess, check_startable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from service.triton.run_folder import RunFolder

logger = logging.getLogger(__name__)

_MAX_RESTARTS = 5
_STABLE_SECONDS = 300.0
_FIRST_PAUSE_SECONDS = 0.5
_LOOK_SECONDS = 0.5
MAX_START_SECONDS = 120.0
"""A Triton whose models do not serve for so long is started again."""


class TritonGaveUpError(RuntimeError):
    """Triton ended again and again; the message holds the reason that it gave last."""


class TritonSupervisor:
    """Supervisor of Triton: restarts it when it ends or can work no more.

    Args:
        model_repository: what Triton serves.
        run: where its socket is.
        metrics: whether it tells its statistics on a loopback port.

    Attributes:
        starts: how often it was started.
        restarts: how many times it was started again after it had ended by itself.

    Raises:
        TritonNotInstalledError: there is no Triton to start.
        FileNotFoundError: there is no such model repository.
    """

    def __init__(self, model_repository: Path, run: RunFolder, *, metrics: bool = False) -> None:
        check_startable(model_repository)
        self.restarts = 0
        self._metrics = metrics
        self._model_repository = model_repository
        self._run_folder = run
        self._process: TritonProcess | None = None
        self._verdict: str | None = None
        self._has_served = False
        self.starts = 0

    @property
    def address(self) -> str:
        """Address of the gRPC endpoint, the same after every restart."""
        return self._run_folder.address

    @property
    def metrics_url(self) -> str | None:
        """URL of Triton's statistics, or None; a restart changes the port."""
        return self._process.metrics_url if self._process is not None else None

    def restart(self, verdict: str) -> None:
        """Request a restart of a running Triton. May be called again meanwhile.

        Args:
            verdict: what is wrong with it.
        """
        if self._process is not None:
            self._verdict = verdict
            self._process.kill()

    def has_process(self, model: str) -> bool:
        """Return whether a model runs in a Python process of its own."""
        return any((self._model_repository / model).glob("*/model.py"))

    async def end_processes(self, model: str) -> None:
        """End the processes of a model."""
        if self._process is not None:
            await self._process.end_processes(model)

    async def run(
        self,
        models: Callable[[], Sequence[str]],
        on_lost: Callable[[], Awaitable[bool]],
        serves: Callable[[], bool] = lambda: True,
        mend: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Start Triton and watch it until cancelled.

        Args:
            models: names what is to be loaded, at every start.
            on_lost: called whenever Triton has ended by itself; returns whether its models served until then.
            serves: tells whether its models serve now.
            mend: called with a model whose process can work no more; returns whether it is mended without a restart.

        Raises:
            TritonGaveUpError: it could not load its models, or ended more often than is worth trying again.
        """
        loop = asyncio.get_running_loop()
        restarts, served = 0, False
        try:
            while True:
                began = loop.time()
                status, has_served, reason = await self._run_once(models, on_lost, serves, mend)
                served |= has_served
                lasted = loop.time() - began
                if status > 0 and not served:
                    raise TritonGaveUpError(f"Triton could not start: {reason}")
                restarts = 0 if lasted > _STABLE_SECONDS else restarts + 1
                if restarts > _MAX_RESTARTS:
                    raise TritonGaveUpError(f"Triton ended {restarts} times in a row, the last time by this: {reason}")
                logger.error("Triton ended with status %d and is started again", status)
                self.restarts += 1
                # The first time nothing speaks against an attempt at once: callers wait.
                await asyncio.sleep(_FIRST_PAUSE_SECONDS * 2 ** (restarts - 1) if restarts > 1 else 0)
        finally:
            if self._process is not None:
                await self._process.stop()

    async def _run_once(
        self,
        models: Callable[[], Sequence[str]],
        on_lost: Callable[[], Awaitable[bool]],
        serves: Callable[[], bool],
        mend: Callable[[str], bool],
    ) -> tuple[int, bool, str]:
        """Run Triton to its end.

        Returns:
            Its exit status, whether its models served until then, and why it ended.
        """
        self._verdict = None
        self._has_served = False
        self.starts += 1
        try:
            self._process = await TritonProcess.start(
                self._model_repository, models(), self._run_folder, metrics=self._metrics
            )
        except OSError as error:
            # No memory or no room on the disk: there may be some at the next attempt.
            logger.error("Triton could not be started: %s", error)  # noqa: TRY400 - the sentence says all
            return 1, False, str(error)
        watching = {
            asyncio.create_task(self._watch(self._process, models, serves, mend), name="triton-watch"),
            asyncio.create_task(self._mend_lost(self._process, models, serves, mend), name="triton-mend"),
        }
        try:
            status = await self._process.wait()
        finally:
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)
        served = await on_lost()
        await self._process.stop()
        return status, served, self._verdict or self._process.reason

    async def _mend_lost(
        self,
        process: TritonProcess,
        models: Callable[[], Sequence[str]],
        serves: Callable[[], bool],
        mend: Callable[[str], bool],
    ) -> None:
        """Reload models that lose processes; restart a Triton where that fails."""
        while True:
            model = await process.lost_model()
            # A Triton that cannot load its models ends by itself, after their processes, and says why.
            self._has_served |= serves()
            if self._has_served and model in models() and not mend(model):
                self.restart(f"the process of the model {model} has ended")

    async def _watch(
        self,
        process: TritonProcess,
        models: Callable[[], Sequence[str]],
        serves: Callable[[], bool],
        mend: Callable[[str], bool],
    ) -> None:
        """Reload broken models; restart a Triton that is broken or does not start."""
        waited = 0.0
        while True:
            # Only time in which this process runs itself counts: it may have been stopped, and the machine asleep.
            await asyncio.sleep(_LOOK_SECONDS)
            waited = 0.0 if serves() else waited + _LOOK_SECONDS
            self._has_served |= waited == 0
            ailment = await process.ailing(models(), are_loaded=self._has_served)
            if ailment is not None and ailment.model is not None and self._has_served and mend(ailment.model):
                continue
            verdict = ailment.text if ailment else None
            if verdict is None and waited >= MAX_START_SECONDS:
                verdict = f"its models did not come to serve within {MAX_START_SECONDS:.0f} s"
            if verdict is not None:
                logger.error("Triton has to be started again: %s", verdict)
                self.restart(verdict)
                return
