"""Keeps a Triton of our own running, and gives up when it will not."""

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


class TritonGaveUpError(RuntimeError):
    """Triton ended again and again; the message holds the reason that it gave last."""


class TritonSupervisor:
    """Runs Triton on one address, and starts it again when it ends by itself.

    Args:
        model_repository: what Triton serves.
        run: where its socket is.

    Raises:
        TritonNotInstalledError: there is no Triton to start.
        FileNotFoundError: there is no such model repository.
    """

    def __init__(self, model_repository: Path, run: RunFolder) -> None:
        check_startable(model_repository)
        self._model_repository = model_repository
        self._run_folder = run
        self._process: TritonProcess | None = None

    @property
    def address(self) -> str:
        """Address of the gRPC endpoint, the same after every restart."""
        return self._run_folder.address

    def restart(self) -> None:
        """Has a Triton started again that runs, but cannot do its work any more. May be called again meanwhile."""
        if self._process is not None:
            self._process.kill()

    async def run(self, models: Callable[[], Sequence[str]], on_lost: Callable[[], Awaitable[bool]]) -> None:
        """Starts Triton and watches it until cancelled.

        Args:
            models: names what is to be loaded, at every start.
            on_lost: called whenever Triton has ended by itself; returns whether its models served until then.

        Raises:
            TritonGaveUpError: it could not load its models, or ended more often than is worth trying again.
        """
        loop = asyncio.get_running_loop()
        restarts, served = 0, False
        try:
            while True:
                began = loop.time()
                status, has_served, reason = await self._run_once(models(), on_lost)
                served |= has_served
                lasted = loop.time() - began
                if status > 0 and not served:
                    raise TritonGaveUpError(f"Triton could not start: {reason}")
                restarts = 0 if lasted > _STABLE_SECONDS else restarts + 1
                if restarts > _MAX_RESTARTS:
                    raise TritonGaveUpError(f"Triton ended {restarts} times in a row, the last time by this: {reason}")
                logger.error("Triton ended with status %d and is started again", status)
                await asyncio.sleep(_FIRST_PAUSE_SECONDS * 2 ** (restarts - 1) if restarts else 0)
        finally:
            if self._process is not None:
                await self._process.stop()

    async def _run_once(self, models: Sequence[str], on_lost: Callable[[], Awaitable[bool]]) -> tuple[int, bool, str]:
        """Runs Triton to its end.

        Returns:
            Its exit status, whether its models served until then, and why it ended.
        """
        try:
            self._process = await TritonProcess.start(self._model_repository, models, self._run_folder)
        except OSError as error:
            # No memory or no room on the disk: there may be some at the next attempt.
            logger.error("Triton could not be started: %s", error)  # noqa: TRY400 - the sentence says all
            return 1, False, str(error)
        status = await self._process.wait()
        served = await on_lost()
        await self._process.stop()
        return status, served, self._process.reason
