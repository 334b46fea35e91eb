"""Keeps the health status, and the door, in step with the models."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from grpc_health.v1 import health_pb2

from service.refusals import SHUTTING_DOWN

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grpc_health.v1 import health

    from service.admission.admission import Admission

logger = logging.getLogger(__name__)

_POLL_READY_SECONDS = 2.0
_POLL_MISSING_SECONDS = 0.1


class ModelServer(Protocol):
    """Tells which models are not ready, and gets those that are into their stride."""

    async def missing(self) -> Sequence[str]:
        """Return their names; empty when all are ready."""

    async def warm_up(self) -> None:
        """Let every model answer a few requests, for first-use costs."""


class Readiness:
    """SERVING and open admission while every model is ready, else the opposite.

    Args:
        models: tells which models are not ready.
        health_servicer: is told the status.
        admission: the door.
        services: full names of the gRPC services that health is told for, besides the whole server.
    """

    def __init__(
        self,
        models: ModelServer,
        health_servicer: health.aio.HealthServicer,
        admission: Admission,
        services: Collection[str],
    ) -> None:
        self._services = ("", *services)
        self._models = models
        self._health = health_servicer
        self._admission = admission
        self._ready = asyncio.Event()
        self._shut_down = False

    async def wait(self) -> None:
        """Wait until every model is ready."""
        await self._ready.wait()

    def is_ready(self) -> bool:
        """Return whether every model is ready."""
        return self._ready.is_set()

    def is_serving(self) -> bool:
        """Return whether callers are admitted: models ready, no shutdown."""
        return self.is_ready() and not self._shut_down

    async def shut_down(self) -> None:
        """Say NOT_SERVING and shuts the door, for good; the models may well be ready."""
        self._shut_down = True
        self._admission.close(SHUTTING_DOWN)
        await self._health.enter_graceful_shutdown()

    async def watch(self) -> None:
        """Follow the models until cancelled."""
        await self._set(serving=False)
        told = False
        while True:
            missing = await self._models.missing()
            if missing and not told:
                logger.info("waiting for models that are not ready yet: %s", ", ".join(missing))
            told = True
            if not missing and not self._ready.is_set():
                await self._models.warm_up()
                missing = await self._models.missing()
            if bool(missing) == self._ready.is_set():
                await self._change(missing)
            await asyncio.sleep(_POLL_READY_SECONDS if self._ready.is_set() else _POLL_MISSING_SECONDS)

    async def lost(self) -> bool:
        """Say at once that the model server is gone, without waiting for the next look.

        Returns:
            Whether the models were ready until then.
        """
        was_ready = self._ready.is_set()
        if was_ready:
            await self._change(["the model server"])
        return was_ready

    async def _change(self, missing: Sequence[str]) -> None:
        if missing:
            self._ready.clear()
            if not self._shut_down:
                self._admission.close("the models are not ready: try again soon")
            logger.warning("not serving: %s not ready", ", ".join(missing))
        else:
            self._ready.set()
            if not self._shut_down:
                self._admission.open()
            logger.info("serving: all models are ready")
        await self._set(serving=not missing)

    async def _set(self, *, serving: bool) -> None:
        states = health_pb2.HealthCheckResponse
        status = states.SERVING if serving else states.NOT_SERVING
        for name in self._services:
            await self._health.set(name, status)
