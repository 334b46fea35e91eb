"""Store of engines' versions, side by side for Triton.

Version 1 of an engine is the one that the repository began with, under its own names. The files of version N of a model
stand in ``MODEL.N``, and the steps of an ensemble name those of their own version: an engine's models change together
or not at all.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.errors import InvalidInputError, RolloutRefusedError
from pipelines.models.shipped import SHIPPED
from pipelines.models.triton import BadConfigError, is_ensemble, renamed, steps, tensors
from pipelines.models.versions.smoke_file import read_smoke
from service.triton.engine_code import (
    ANY_CODE,
    CODE,
    COMPILED,
    CONFIG,
    VERSION,
    EngineCode,
    EngineCodeError,
    log_replaced,
)
from service.triton.repository import SOURCE
from service.triton.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pipelines.models.contracts import EngineRegistry
    from pipelines.models.versions.probes import Probe
    from pipelines.models.versions.store import EngineFiles

SMOKE = "smoke.jsonl"


@dataclass(frozen=True, slots=True)
class CheckedEngine:
    """An engine directory that was found to be in order.

    Attributes:
        engine: name of the engine that it holds.
        examples: its smoke evaluation.
        folders: folder of each of its models, the engine's own last.
    """

    engine: str
    examples: Sequence[Probe[Any]]
    folders: tuple[Path, ...]


class EngineStore:
    """A model repository of this service's own, in which versions come and go.

    Args:
        repository: holds the models that the service begins with; what is added is copied, so that it stays as it was
            when the engine directory changes.
        settings: what is set for the models, those of every later version too.
        registry: the engines.
        code: decides whose code is run for the models of engine directories.
    """

    def __init__(
        self,
        repository: Path,
        settings: Settings | None = None,
        registry: EngineRegistry = SHIPPED,
        code: EngineCode = ANY_CODE,
    ) -> None:
        self._repository = repository
        self._code = code
        self._registry = registry
        self._settings = settings or Settings()
        roles = [role for role in registry.versioned if registry[role].is_required or (repository / role).is_dir()]
        self._models = {(role, 1): _first_models_of(role, repository) for role in roles}
        self._tensors = {role: _tensors_of(repository / role) for role in roles}
        held = {model for models in self._models.values() for model in models}
        self._others = [path.parent.name for path in _configs(repository) if path.parent.name not in held]

    def holds(self, engine: str) -> bool:
        """See ``pipelines.models.versions.store.EngineStore``."""
        return engine in self._tensors

    def source(self, engine: str) -> str:
        """See ``pipelines.models.versions.store.EngineStore``."""
        # A model with another config or other code has a folder here, and the rest of it elsewhere.
        if (link := self._repository / engine / SOURCE).is_symlink():
            return str(link.resolve())
        return str((self._repository / engine / VERSION).resolve().parent)

    async def check(self, source: Path) -> CheckedEngine:
        """See ``pipelines.models.versions.store.EngineStore``."""
        try:
            return await asyncio.to_thread(self._check, source)
        except OSError as error:
            message = f"the engine's files cannot be read: {_sentence(error)}"
            raise RolloutRefusedError("FILES_UNREADABLE", message) from error

    async def add(self, files: EngineFiles, number: int) -> None:
        """See ``pipelines.models.versions.store.EngineStore``."""
        assert isinstance(files, CheckedEngine)
        self._models[files.engine, number] = tuple(f"{folder.name}.{number}" for folder in files.folders)
        try:
            await asyncio.to_thread(self._add, files.folders, number)
        except OSError as error:
            reason = "NO_SPACE" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "FILES_UNREADABLE"
            raise RolloutRefusedError(reason, f"the engine's files cannot be copied: {_sentence(error)}") from error

    def models(self, engine: str, number: int) -> Sequence[str]:
        """See ``pipelines.models.versions.store.EngineStore``."""
        return self._models[engine, number]

    def others(self) -> Sequence[str]:
        """See ``pipelines.models.versions.store.EngineStore``."""
        return self._others

    async def remove(self, engine: str, number: int) -> None:
        """See ``pipelines.models.versions.store.EngineStore``."""
        names = self._models.pop((engine, number), ())
        await asyncio.to_thread(_remove, [self._repository / name for name in names])

    def _check(self, source: Path) -> CheckedEngine:
        checked = check_engine(source, self._tensors, self._registry)
        try:
            for folder in checked.folders:
                self._code.check(folder)
        except EngineCodeError as error:
            raise _bad("OWN_CODE", str(error)) from error
        try:
            self._configs(checked.folders)
        except SettingsError as error:
            raise _bad("SETTINGS_DO_NOT_SUIT", str(error)) from error
        return checked

    def _add(self, folders: Sequence[Path], number: int) -> None:
        for folder, config in self._configs(folders).items():
            target = self._repository / f"{folder.name}.{number}"
            _add_model(folder, target, renamed(config, lambda name: f"{name}.{number}"))
            if self._code.replaces(folder):
                log_replaced(folder)
                shutil.copyfile(self._code.file(folder / VERSION / CODE), target / VERSION / CODE)

    def _configs(self, folders: Sequence[Path]) -> dict[Path, str]:
        """Read the ``config.pbtxt`` of an engine's models, with the settings applied."""
        configs = {folder.name: (folder / CONFIG).read_text(encoding="utf-8") for folder in folders}
        configs |= self._settings.among(configs).adjusted(configs)
        return {folder: configs[folder.name] for folder in folders}


def check_engine(
    source: Path, needed: Mapping[str, frozenset[str]], registry: EngineRegistry = SHIPPED
) -> CheckedEngine:
    """Read an engine directory.

    Args:
        source: its absolute path.
        needed: inputs and outputs that the model of each engine must have, by role.
        registry: the engines.

    Raises:
        InvalidInputError: it is none, or not in order.
    """
    if not source.is_absolute():
        raise _bad("RELATIVE_PATH", f"{source} is a relative path: send the absolute one on the server")
    models = source / "triton"
    found = [path.parent.name for path in _configs(models)]
    engines = [role for role in needed if role in found]
    if len(engines) != 1:
        held = " and ".join(engines) or "none of them"
        known = ", ".join(needed)
        message = f"{source} is no engine directory: its triton/ must hold one of {known}, but holds {held}"
        raise _bad("NO_ENGINE", message)
    (role,) = engines
    folders = tuple(models / name for name in _models_of(role, models))
    for folder in folders:
        _check_model(folder)
    lacking = needed[role] - _tensors_of(folders[-1])
    if lacking:
        message = (
            f"{folders[-1] / CONFIG} has no {' and no '.join(sorted(lacking))}: make the engine again with this version"
        )
        raise _bad("OTHER_CONTRACT", message)
    read = registry[role].read_example
    return CheckedEngine(role, read_smoke(source / SMOKE, read) if read else (), folders)


def _first_models_of(engine: str, repository: Path) -> tuple[str, ...]:
    try:
        return _models_of(engine, repository)
    except InvalidInputError:
        # Triton itself says what is wrong with what it is started with.
        return (engine,)


def _models_of(engine: str, repository: Path) -> tuple[str, ...]:
    """List an engine's models in loading order, the engine's own last."""
    config = repository / engine / CONFIG
    try:
        return (*steps(config.read_text(encoding="utf-8")), engine) if config.is_file() else (engine,)
    except (BadConfigError, UnicodeDecodeError) as error:
        raise _bad("BAD_MODEL_CONFIG", f"{config} cannot be read: {error}") from error


def _tensors_of(folder: Path) -> frozenset[str]:
    """List a model's inputs and outputs; none if its config is unreadable."""
    try:
        return tensors((folder / CONFIG).read_text(encoding="utf-8"))
    except (BadConfigError, UnicodeDecodeError, FileNotFoundError):
        return frozenset()


def _check_model(folder: Path) -> None:
    """Raise InvalidInputError unless ``folder`` looks like a model of Triton."""
    if not (folder / CONFIG).is_file():
        raise _bad("NO_ENGINE", f"{folder / CONFIG} is missing, which the engine needs")
    try:
        ensemble = is_ensemble((folder / CONFIG).read_text(encoding="utf-8"))
    except (BadConfigError, UnicodeDecodeError) as error:
        raise _bad("BAD_MODEL_CONFIG", f"{folder / CONFIG} cannot be read: {error}") from error
    if not ensemble and not (folder / VERSION / CODE).is_file():
        raise _bad("NO_ENGINE", f"{folder / VERSION / CODE} is missing: export the engine again")


def _remove(folders: Sequence[Path]) -> None:
    for folder in folders:
        if folder.is_symlink():
            folder.unlink()
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _add_model(folder: Path, target: Path, config: str) -> None:
    _copy(folder, target)
    (target / VERSION).mkdir(exist_ok=True)
    (target / CONFIG).write_text(config, encoding="utf-8")


def _copy(folder: Path, target: Path) -> None:
    """Copy a folder, with what links lead to; stop at a file of a wrong kind."""
    target.mkdir()
    for path in folder.iterdir():
        if path.name in {CONFIG, COMPILED}:
            continue
        if path.is_dir():
            _copy(path, target / path.name)
        else:
            shutil.copyfile(path, target / path.name)


def _sentence(error: OSError) -> str:
    """Say which file it was, and what was wrong with it."""
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


def _configs(repository: Path) -> list[Path]:
    return sorted(repository.glob(f"*/{CONFIG}"))


def _bad(reason: str, message: str) -> InvalidInputError:
    return InvalidInputError("path", reason, message)
