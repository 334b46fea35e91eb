"""Carries one version of an engine over to the next while turns run.

A version that is loaded stands beside the others until it has passed its trial; only then is it assigned to be the
active one. Whatever goes wrong before leaves everything as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pipelines.errors import (
    ModelControlError,
    ModelError,
    ModelUnavailableError,
    PipelineError,
    RolloutRefusedError,
)
from pipelines.models.versions.bookkeeping import Phase, Version, Versions
from pipelines.models.versions.model_leases import ServedVersion
from pipelines.models.versions.serving import ActiveVersions
from pipelines.models.versions.trial import try_out, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pipelines.models.contracts import EngineRegistry
    from pipelines.models.versions.store import EngineStore, ModelControl

    T = TypeVar("T")

logger = logging.getLogger(__name__)

_CANCEL_SECONDS = 10.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 5.0


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """A version and its use.

    Attributes:
        version: which one, and what it is doing.
        turns: turns that it has served since it was loaded, those under way included.
        holders: turns, sequences and requests that use it now.
    """

    version: Version
    turns: int
    holders: int


class Rollout:
    """Loads, unloads and rolls back versions.

    Args:
        control: the model server.
        store: the files that it serves.
        connect: makes the client of a model from the role of its engine and the name of the model.
        registry: the engines.
        clock: seconds since 1970.

    Attributes:
        active: what turns begin with.
    """

    def __init__(
        self,
        control: ModelControl,
        store: EngineStore,
        connect: Callable[[str, str], Any],
        registry: EngineRegistry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._control = control
        self._store = store
        self._connect = connect
        self._registry = registry
        self._clock = clock
        held = [role for role in registry.versioned if registry[role].is_required or store.holds(role)]
        self._versions = {role: Versions.initial(role, store.source(role), clock()) for role in held}
        first = {role: store.models(role, 1)[-1] if role in self._versions else role for role in registry.names}
        self._served = {(role, 1): ServedVersion(1, connect(role, model)) for role, model in first.items()}
        self._last_numbers = dict.fromkeys(self._versions, 1)
        self._loading: asyncio.Task[Version] | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self._preparing: dict[str, asyncio.Task[None]] = {}
        self.active = ActiveVersions(registry, {role: self._served[role, 1] for role in registry.names})

    def status(self) -> list[VersionStatus]:
        """List all versions, engine by engine, the oldest first."""
        return [self._status(version) for versions in self._versions.values() for version in versions.known]

    def models_to_load(self) -> list[str]:
        """List the models for a restarted server: active and kept versions."""
        kept = {Phase.ACTIVE, Phase.READY}
        versions = [version for each in self._versions.values() for version in each.known if version.phase in kept]
        names = [model for version in versions for model in self._store.models(version.engine, version.number)]
        return [*self._store.others(), *names]

    def models_using(self, model: str) -> Collection[str]:
        """List a model's dependencies, or itself; none where it serves nothing."""
        if model in self._store.others():
            return {model}
        kept = {Phase.ACTIVE, Phase.READY, Phase.DRAINING}
        versions = [version for each in self._versions.values() for version in each.known if version.phase in kept]
        names = [self._store.models(version.engine, version.number) for version in versions]
        return {each[-1] for each in names if model in each}

    async def missing(self) -> Sequence[str]:
        """Return the required active models that are not ready."""
        models = self.active_models()
        return await self._control.missing([models[role] for role in self._registry.required])

    def active_models(self) -> dict[str, str]:
        """Names the model of each engine that new turns begin with."""
        return {
            role: self._store.models(role, self._active(role))[-1] if role in self._versions else role
            for role in self._registry.names
        }

    async def warm_up(self) -> None:
        """Warm up the required models; errors show later in use."""
        for role in self._registry.names:
            try:
                await self._prepare(role, self.active.version(role).model)
            except ModelError as error:
                if self._registry[role].is_required:
                    logger.warning("the configuration of %s cannot be read: %s", role, error)
                elif role not in self._preparing:
                    self._preparing[role] = asyncio.create_task(self._prepare_late(role), name=f"prepare-{role}")
        for role in self._registry.required:
            try:
                await warm_up(self._registry[role], self.active.get(role))
            except (RolloutRefusedError, ModelUnavailableError) as error:
                logger.warning("%s cannot be warmed up: %s", role, error)

    async def load(self, source: Path) -> VersionStatus:
        """Load the engine directory ``source``, try it out and activate it.

        Cancelled, it leaves everything as it was.

        Raises:
            InvalidInputError: there is no engine in order at ``source``.
            RolloutRefusedError: the version does not load or does not pass its trial, or another one is being loaded.
            ModelUnavailableError: the model server was lost meanwhile.
        """
        if self._loading is not None:
            message = "another version is being loaded: wait until it serves or has failed"
            raise RolloutRefusedError("LOAD_UNDER_WAY", message)
        self._loading = asyncio.create_task(self._load(source), name="load-version")
        try:
            return self._status(await self._loading)
        finally:
            self._loading = None

    async def roll_back(self, engine: str) -> VersionStatus:
        """Let the version before the active one take over again.

        Raises:
            RolloutRefusedError: there is no such engine, or no version that could take over.
            ModelUnavailableError: the model server is lost.
        """
        before = self._find(engine).roll_back(self._clock()).active
        if await self._control.missing(self._store.models(engine, before.number)):
            if len(await self.missing()) == len(self._registry.required):
                raise ModelUnavailableError("the model server is not ready: try again soon")
            message = f"version {before.number} of {engine} is not ready any more: load the engine that is wanted"
            raise RolloutRefusedError("VERSION_NOT_READY", message)
        self._become(self._find(engine).roll_back(self._clock()))
        return self._status(self._versions[engine].active)

    def unload(self, engine: str, number: int) -> None:
        """Unload a version that is not needed, as soon as no turn uses it any more.

        Raises:
            RolloutRefusedError: there is no such version, or it is needed.
        """
        self._become(self._find(engine).unload(number, self._clock()))

    async def close(self) -> None:
        """Give up what is under way; the model server and its files go next."""
        tasks = {*self._retiring, *self._preparing.values(), *((self._loading,) if self._loading else ())}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _load(self, source: Path) -> Version:
        files = await self._store.check(source)
        engine = files.engine
        number = self._last_numbers[engine] = self._last_numbers[engine] + 1
        self._become(self._versions[engine].begin_load(number, str(source), self._clock()))
        try:
            await _undisturbed(self._store.add(files, number))
            models = self._store.models(engine, number)
            for model in models:
                await _undisturbed(self._control.load(model))
            client = self._connect(engine, models[-1])
            await self._prepare(engine, client)
            # Another version may be the active one by the time that it is asked.
            hold_active = functools.partial(self._hold_active, engine)
            await try_out(self._registry[engine], client, files.examples, hold_active)
        except BaseException as error:
            try:
                await _undisturbed(self._remove(engine, number))
            finally:
                self._become(self._versions[engine].fail(number, _reason(error), self._clock()))
                logger.warning("version %d of %s does not take over: %s", number, engine, _reason(error))
            if isinstance(error, ModelControlError):
                raise RolloutRefusedError("LOAD_FAILED", str(error)) from error
            raise
        self._served[engine, number] = ServedVersion(number, client)
        self._become(self._versions[engine].activate(number, self._clock()))
        return self._versions[engine].active

    async def _prepare(self, engine: str, model: Any) -> None:  # noqa: ANN401 - a model of any engine
        prepare = self._registry[engine].prepare
        if prepare is not None:
            await prepare(model)

    async def _prepare_late(self, engine: str) -> None:
        """Prepare an engine that readiness does not wait for, once it is loaded."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            with contextlib.suppress(ModelError):
                await self._prepare(engine, self.active.version(engine).model)
                del self._preparing[engine]
                return

    def _become(self, versions: Versions) -> None:
        """Apply the bookkeeping: new turns' versions, and draining ones."""
        engine, before = versions.engine, self._versions[versions.engine]
        self._versions[engine] = versions
        if versions.active.number != before.active.number:
            self.active.replace(engine, self._served[engine, versions.active.number])
            logger.info("version %d of %s takes over from %d", versions.active.number, engine, before.active.number)
        for version in set(versions.in_phase(Phase.DRAINING)) - set(before.in_phase(Phase.DRAINING)):
            task = asyncio.create_task(self._retire(version), name=f"retire-{engine}-{version.number}")
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)

    async def _retire(self, version: Version) -> None:
        """Remove a version once the last turn that uses it is over."""
        key = (version.engine, version.number)
        await self._served[key].until_unused()
        pause = _FIRST_PAUSE_SECONDS
        while not await self._unload(*key):
            # A server that starts just now may be about to load it: its files must stay until then.
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        await self._store.remove(*key)
        del self._served[key]
        self._become(self._versions[version.engine].forget(version.number))
        logger.info("version %d of %s is unloaded", version.number, version.engine)

    async def _remove(self, engine: str, number: int) -> None:
        """Remove a version that never served."""
        try:
            # A server that was lost meanwhile does not load it again: it never was one of ``models_to_load``.
            await self._unload(engine, number)
        finally:
            await self._store.remove(engine, number)

    async def _unload(self, engine: str, number: int) -> bool:
        """Unload a version; return whether the server could be reached."""
        try:
            # The ensemble goes before its steps: Triton complains of one that lacks some.
            await self._control.unload(self._store.models(engine, number)[::-1])
        except ModelError as error:
            logger.warning("version %d of %s could not be unloaded: %s", number, engine, error)
            return not isinstance(error, ModelUnavailableError)
        return True

    def _find(self, engine: str) -> Versions:
        if engine not in self._versions:
            raise RolloutRefusedError(
                "UNKNOWN_MODEL", f"there is no model {engine!r}: name one of {', '.join(self._versions)}"
            )
        return self._versions[engine]

    def _active(self, engine: str) -> int:
        return self._versions[engine].active.number

    def _hold_active(self, engine: str) -> AbstractContextManager[Any]:
        return self._served[engine, self._active(engine)].lease()

    def _status(self, version: Version) -> VersionStatus:
        served = self._served.get((version.engine, version.number))
        return VersionStatus(version, served.turns_begun if served else 0, served.holders if served else 0)


async def _undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Finish ``work`` within a time limit, even if the waiting is cancelled."""
    task = asyncio.create_task(work)
    task.add_done_callback(_hear)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        _, running = await asyncio.wait((task,), timeout=_CANCEL_SECONDS)
        for overdue in running:
            overdue.cancel()
        raise


def _hear(task: asyncio.Task[Any]) -> None:
    """Retrieve an abandoned task's exception: asyncio would complain."""
    if not task.cancelled():
        task.exception()


def _reason(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "the load was given up"
    return str(error) if isinstance(error, PipelineError) else "the service made a mistake; its log has the details"
