"""Models of a service: Triton, clients of versions, and their watch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.models.contracts import ASR
from pipelines.models.triton import TritonClient
from pipelines.models.triton.settings import ModelSettings
from pipelines.models.versions.rollout import Rollout
from service.sessions.capacity_watch import RECOGNIZER_PLACES
from service.triton.engine_code import ANY_CODE, EngineCode
from service.triton.engine_store import EngineStore
from service.triton.fixed_store import FixedStore
from service.triton.model_reload import Mender
from service.triton.remote import RemoteModels
from service.triton.repository import composed
from service.triton.run_folder import RunFolder
from service.triton.settings import Settings, read_settings
from service.triton.supervisor import TritonSupervisor
from service.triton.watchdog import Watchdog

if TYPE_CHECKING:
    import contextlib

    from pipelines.models.contracts import EngineRegistry
    from service.config import ServiceConfig

DEFAULT_MODEL_REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"


@dataclass(frozen=True, slots=True)
class ServedModels:
    """The models that a service serves.

    Attributes:
        supervisor: of a Triton of our own; None where it runs elsewhere.
        rollout: has the versions of each model, and those that serve.
        client: of Triton.
        watchdog: finds models that answer no more.
        recognizer_places: utterances that the recognizer has open at a time.
    """

    supervisor: TritonSupervisor | None
    rollout: Rollout
    client: TritonClient
    watchdog: Watchdog
    recognizer_places: int = RECOGNIZER_PLACES

    @property
    def metrics_url(self) -> str | None:
        """URL of Triton's statistics; None without."""
        return self.supervisor.metrics_url if self.supervisor else None

    @property
    def restarts(self) -> int:
        """Number of Triton's restarts."""
        return self.supervisor.restarts if self.supervisor else 0


def served_models(config: ServiceConfig, registry: EngineRegistry, cleanup: contextlib.AsyncExitStack) -> ServedModels:
    """Make the models that a configuration asks for; nothing runs yet.

    Args:
        config: of the service.
        registry: the engines, variants included.
        cleanup: takes what is to be done when the service ends.

    Raises:
        OSError: there is no such model repository, no room for a folder, or a file cannot be read.
        EngineCodeError: an engine directory brings code, which the configuration does not allow.
        SettingsError: the settings are not in order.
        TritonNotInstalledError: there is no Triton to start.
    """
    if config.triton is not None:
        store = FixedStore(config.triton)
        client = _client(config.triton, cleanup)
        rollout = _rollout(client, store, registry)
        remote = RemoteModels(rollout, client, config.triton, registry)
        watchdog = Watchdog(remote, rollout, client, client.on_dead_model, loads=False, registry=registry)
        return ServedModels(None, rollout, client, watchdog)
    settings = read_settings(config.settings) if config.settings else Settings()
    supervisor, own_store = _own_triton(config, settings, registry, cleanup)
    client = _client(supervisor.address, cleanup)
    rollout = _rollout(client, own_store, registry)
    mender = Mender(supervisor, rollout.models_using, client)
    cleanup.push_async_callback(mender.close)
    client.on_dead_model = mender.mend
    watchdog = Watchdog(rollout, rollout, client, client.on_dead_model, loads=True, registry=registry)
    return ServedModels(supervisor, rollout, client, watchdog, recognizer_places(settings))


def recognizer_places(settings: Settings) -> int:
    """Return the recognizer's places for utterances under these settings."""
    asr = settings.models.get(ASR, ModelSettings())
    return (asr.max_sequences or RECOGNIZER_PLACES) * (asr.instances or 1)


def _own_triton(
    config: ServiceConfig, settings: Settings, registry: EngineRegistry, cleanup: contextlib.AsyncExitStack
) -> tuple[TritonSupervisor, EngineStore]:
    """Make the supervisor of a Triton of our own, and the store of what it serves."""
    default = config.model_repository or DEFAULT_MODEL_REPOSITORY
    run_folder = RunFolder.open(
        confined=config.confine,
        model_memory_bytes=config.model_memory_mib * 2**20 if config.model_memory_mib else None,
    )
    cleanup.callback(run_folder.close)
    code = ANY_CODE if config.engine_code else EngineCode(default)
    repository = cleanup.enter_context(
        composed(default, config.engines, settings, run_folder.path, registry, config.variants, code)
    )
    supervisor = TritonSupervisor(repository, run_folder, metrics=config.metrics_port is not None)
    return supervisor, EngineStore(repository, settings, registry, code)


def _client(address: str, cleanup: contextlib.AsyncExitStack) -> TritonClient:
    client = TritonClient(address)
    cleanup.push_async_callback(client.close)
    return client


def _rollout(client: TritonClient, store: EngineStore | FixedStore, registry: EngineRegistry) -> Rollout:
    return Rollout(client, store, lambda role, model: registry[role].client(client, model), registry)
