"""Heartbeats to idle models, and recovery of those that do not answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.errors import ModelDeadError, ModelError, ModelUnavailableError
from pipelines.models.shipped import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pipelines.models.contracts import EngineRegistry
    from pipelines.models.versions.serving import ActiveVersions
    from service.sessions.readiness import ModelServer

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 3.0
"""A model that answered somebody within this time is not asked."""
PATIENCE_SECONDS = 8.0
"""A model that answers nobody for so long after it was asked hangs. The small requests take milliseconds."""
MAX_OPEN_SEQUENCES = 48
"""With more utterances under recognition the recognizer is not asked: it has 64 places, and what finds none waits."""

_TICK_SECONDS = 0.5
_RECENT_SECONDS = 10.0


class Client(Protocol):
    """Operations of Triton's client."""

    @property
    def open_sequences(self) -> Collection[int]:
        """Utterances under recognition."""

    @property
    def mending(self) -> Collection[str]:
        """Models that are being loaded anew."""

    def answered_at(self, model: str) -> float | None:
        """Return when a model answered last; None if it never has since Triton was lost."""

    async def unloaded(self, names: Sequence[str]) -> Sequence[str]:
        """Return the models not ready; raise ModelUnavailableError without Triton."""

    async def load(self, model: str) -> None:
        """Load a model; raise ModelError when that does not work."""


class Versions(Protocol):
    """Operations of the engines' versions."""

    @property
    def active(self) -> ActiveVersions:
        """The engines that serve."""

    def active_models(self) -> Mapping[str, str]:
        """Names the model of each engine that serves."""

    def models_to_load(self) -> Sequence[str]:
        """Names all models that have to be loaded."""


class Watchdog:
    """Finds models that hang or whose process has ended before a caller does.

    It is a model server too, of which those models are missing that do not answer and are not mended.

    Args:
        models: the model server that tells which models are ready.
        versions: the engines in service.
        client: the connection to Triton.
        mend: has a model mended that does not answer; returns whether it is.
        loads: whether models that somebody has unloaded are loaded again.
        registry: the engines; of those that are not required a Triton may have none.
    """

    def __init__(
        self,
        models: ModelServer,
        versions: Versions,
        client: Client,
        mend: Callable[[str], bool],
        *,
        loads: bool,
        registry: EngineRegistry = SHIPPED,
    ) -> None:
        self._models = models
        self._versions = versions
        self._client = client
        self._mend = mend
        self._loads = loads
        self._registry = registry
        self._silent: set[str] = set()
        self._refused: set[str] = set()
        self._idle_ticks = 0.0

    async def missing(self) -> Sequence[str]:
        """Return the names of the models that are not ready, or do not answer.

        While a model is loaded anew that recognizes no speech, none is missing for want of it: callers come in, and
        what they ask of that model waits for it.
        """
        missing = list(await self._models.missing())
        active = self._versions.active_models()
        if self._client.mending:
            recognizers = {active[contract.name] for contract in self._registry if contract.takes_sequences}
            missing = [model for model in missing if model in recognizers]
        silent = [active[role] for role in self._registry.required if role in self._silent]
        return missing + [model for model in silent if model not in missing]

    async def warm_up(self) -> None:
        """Warm the models up."""
        await self._models.warm_up()

    async def watch(self, serves: Callable[[], bool]) -> None:
        """Watch the models until cancelled.

        Args:
            serves: tells whether the models serve now. While they come up nobody is asked: their first answers take
                time, and what the machine carries is measured.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._count_idle_time(serves))
            for contract in self._registry:
                tasks.create_task(self._follow(contract.name))
            if self._loads:
                tasks.create_task(self._keep_loaded())

    async def _count_idle_time(self, serves: Callable[[], bool]) -> None:
        """Count how long the models have not served."""
        self._idle_ticks = _RECENT_SECONDS
        while True:
            self._idle_ticks = 0.0 if serves() else self._idle_ticks + _TICK_SECONDS
            await asyncio.sleep(_TICK_SECONDS)

    async def _follow(self, engine: str) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            model = self._model(engine)
            answered = self._client.answered_at(model)
            if answered is not None and answered > loop.time() - INTERVAL_SECONDS:
                self._heard(engine)
            elif self._is_due(engine) and await self._is_there(engine):
                await self._probe(engine, model)

    def _is_due(self, engine: str) -> bool:
        # A Triton that hangs shuts the door before it has been asked: just after that it is asked, too.
        recent = self._idle_ticks < _RECENT_SECONDS
        crowded = self._registry[engine].takes_sequences and len(self._client.open_sequences) > MAX_OPEN_SEQUENCES
        return (recent or engine in self._silent) and not crowded

    async def _is_there(self, engine: str) -> bool:
        """Return whether a model is loaded, of which a Triton may have none."""
        if self._registry[engine].is_required:
            return True
        try:
            return not await self._client.unloaded([self._model(engine)])
        except ModelUnavailableError:
            return False

    def _model(self, engine: str) -> str:
        return self._versions.active_models()[engine]

    async def _ask(self, engine: str) -> object:
        return await self._registry[engine].heartbeat.ask(self._versions.active.get(engine))

    async def _probe(self, engine: str, model: str) -> None:
        """Ask a model, and has it mended where it does not answer."""
        asked_at = asyncio.get_running_loop().time()
        had_answered = self._client.answered_at(model) is not None or engine in self._silent
        probe = asyncio.create_task(self._ask(engine), name=f"probe-{engine}")
        try:
            waited = 0.0
            while not probe.done() and waited < PATIENCE_SECONDS:
                # Only time in which this process runs itself counts: it may have been stopped, and the machine asleep.
                await asyncio.wait((probe,), timeout=_TICK_SECONDS)
                waited += _TICK_SECONDS
                if (self._client.answered_at(model) or asked_at) > asked_at:
                    # It answers others: it has much to do.
                    self._heard(engine)
                    return
            if not probe.done():
                # One that never has answered may be slow to start.
                if had_answered:
                    self._unheard(engine, model, f"has answered nobody for {PATIENCE_SECONDS:.0f} s")
                return
            self._judge(engine, model, probe.exception())
        finally:
            probe.cancel()
            probe.add_done_callback(_hear)

    def _judge(self, engine: str, model: str, error: BaseException | None) -> None:
        """Take in how a probe has ended."""
        match error:
            case ModelDeadError():
                self._unheard(engine, model, "has lost its process")
            case ModelUnavailableError():
                pass  # Triton is not there, or being started again: readiness sees to that.
            case None | ModelError() | ValueError() | TypeError() | IndexError() | AttributeError():
                # An engine of the user's may refuse what it is asked here, or answer oddly; it does answer.
                self._heard(engine)
            case _:
                raise error

    def _heard(self, engine: str) -> None:
        if engine in self._silent:
            self._silent.discard(engine)
            logger.info("the model %s answers again", self._model(engine))

    def _unheard(self, engine: str, model: str, why: str) -> None:
        if self._mend(model):
            logger.error("the model %s %s: it is mended", model, why)
        elif engine not in self._silent:
            self._silent.add(engine)
            logger.error("the model %s %s: start its Triton again", model, why)

    async def _keep_loaded(self) -> None:
        """Load again what somebody else has unloaded."""
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            with contextlib.suppress(ModelUnavailableError):
                for model in await self._client.unloaded(self._versions.models_to_load()):
                    await self._load(model)

    async def _load(self, model: str) -> None:
        # Meanwhile it may have been taken out of service, or the steps of an ensemble may have brought it back.
        if model not in self._versions.models_to_load() or not await self._client.unloaded([model]):
            return
        if self._client.mending:
            # It is on its way.
            return
        try:
            await self._client.load(model)
        except ModelUnavailableError:
            raise
        except ModelError as error:
            if model not in self._refused:
                logger.error("the model %s was unloaded and cannot be loaded: %s", model, error)  # noqa: TRY400
            self._refused.add(model)
        else:
            self._refused.discard(model)
            logger.warning("the model %s was unloaded by somebody else, and is loaded again", model)


def _hear(task: asyncio.Task[Any]) -> None:
    """Take notice of what went wrong in a probe that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
