"""Model repository of links: user's engines over the shipped models.

Where settings change a model, its ``config.pbtxt`` is written anew, and the rest of it is linked.
"""

from __future__ import annotations

import contextlib
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.models.contracts import engine_name
from pipelines.models.shipped import ON_DEMAND, SHIPPED
from pipelines.models.triton import BadConfigError, renamed, steps
from service.triton.engine_code import ANY_CODE, CODE, COMPILED, CONFIG, VERSION, EngineCode, log_replaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipelines.models.contracts import EngineRegistry
    from service.triton.settings import Settings

SOURCE = "source"
"""Link in a model's folder to where its files are, for models whose files are linked one by one."""


class NoEngineError(FileNotFoundError):
    """Invalid engine directory; the message names it."""


@contextlib.contextmanager
def composed(
    default: Path,
    engines: Sequence[Path],
    settings: Settings | None = None,
    within: Path | None = None,
    registry: EngineRegistry = SHIPPED,
    variants: Mapping[str, Path] | None = None,
    code: EngineCode = ANY_CODE,
) -> Iterator[Path]:
    """Yield a model repository of ``default`` and ``engines``.

    Args:
        default: a model repository; it stays as it is, whatever comes into the composed one later.
        engines: engine directories, whose ``triton/`` holds models. Of two models with one name the later one counts.
        settings: what is set otherwise than in the models' ``config.pbtxt``.
        within: the folder that it is made in; None for that of temporary files.
        registry: the engines; those that are required must be there.
        variants: engine directories that are served beside the others, by the name of the variant.
        code: decides whose code is run for the models of ``engines`` and ``variants``.

    Raises:
        FileNotFoundError: there is no such model repository, or it lacks an engine.
        NoEngineError: an engine directory holds no models, or a model's ``config.pbtxt`` cannot be read.
        EngineCodeError: one brings code, which ``code`` does not allow.
        SettingsError: a setting does not suit its model.
    """
    models = overlaid(default, engines, registry)
    changed = _changed(models, settings) if settings else {}
    others = {folder for folder in models.values() if folder.parent != default.resolve()}
    for folder in others:
        _check_code(folder, code)
    with tempfile.TemporaryDirectory(prefix="vivavoce-models-", dir=within) as directory:
        for variant, engine in (variants or {}).items():
            for name, folder in _models_of(engine).items():
                _check_code(folder, code)
                config = renamed(_read_config(folder / CONFIG), partial(engine_name, variant=variant))
                link_with_config(folder, Path(directory, engine_name(name, variant)), config, code)
        for name, folder in models.items():
            rules = code if folder in others else ANY_CODE
            if name in changed or rules.links_singly(folder):
                config = changed.get(name) or _read_config(folder / CONFIG)
                link_with_config(folder, Path(directory, name), config, rules)
            else:
                Path(directory, name).symlink_to(folder, target_is_directory=True)
        yield Path(directory)


def overlaid(default: Path, engines: Sequence[Path], registry: EngineRegistry = SHIPPED) -> dict[str, Path]:
    """Find the folder of every model, by name; see :func:`composed`."""
    if not default.is_dir():
        raise FileNotFoundError(
            f"there is no model repository at {default}: name the one of the checkout (`serve --model-repository`)"
        )
    models = {
        name: folder for name, folder in _models(default).items() if name in registry.names or name not in ON_DEMAND
    }
    first_steps = _steps(models)
    for engine in engines:
        models |= _models_of(engine)
    # A pipeline has stages in place of its network, of which the shipped one would only take memory.
    replaced = first_steps - _steps(models)
    models = {n: folder for n, folder in models.items() if n not in replaced or folder.parent != default.resolve()}
    missing = [name for name in registry.required if not registry[name].variant and name not in models]
    if missing:
        raise FileNotFoundError(f"the model repository {default} has no model {' and no '.join(missing)}: add it")
    return models


def role_of(engine: Path, registry: EngineRegistry = SHIPPED) -> str:
    """Return the role of an engine directory.

    Raises:
        NoEngineError: it holds no models, or none of a role that the registry has.
    """
    models = _models_of(engine)
    found = [contract.role for contract in registry if contract.name in models]
    if not found:
        raise NoEngineError(f"{engine} has no engine for a role of the service: use one of {', '.join(registry.names)}")
    return found[0]


def _models_of(engine: Path) -> dict[str, Path]:
    found = _models(engine / "triton")
    if not found:
        raise NoEngineError(
            f"{engine} is no engine directory: it needs a folder triton/ with models, as `vivavoce train` writes it"
        )
    return found


def _steps(models: Mapping[str, Path]) -> set[str]:
    """Return the models that are a step of an ensemble, or a stage of another model."""
    return {step for folder in models.values() for step in steps(_read_config(folder / CONFIG))}


def _changed(models: Mapping[str, Path], settings: Settings) -> dict[str, str]:
    """Return the ``config.pbtxt`` of the models that settings change."""
    return settings.adjusted({name: _read_config(folder / CONFIG) for name, folder in models.items()})


def _read_config(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        steps(text)
    except (BadConfigError, UnicodeDecodeError) as error:
        raise _bad_config(path, error) from error
    return text


def _bad_config(path: Path, error: ValueError) -> NoEngineError:
    return NoEngineError(f"{path} is no model configuration: {error}: export the engine again")


def link_with_config(folder: Path, target: Path, config: str, code: EngineCode = ANY_CODE) -> None:
    """Make ``target`` a model of ``folder``'s files with another ``config.pbtxt``.

    Args:
        folder: of the model.
        target: must not exist.
        config: the other ``config.pbtxt``.
        code: decides which ``model.py`` is run.
    """
    target.mkdir()
    singly = code.links_singly(folder)
    for path in folder.iterdir():
        if path.name != CONFIG and not (singly and path.name == VERSION):
            (target / path.name).symlink_to(path)
    (target / CONFIG).write_text(config, encoding="utf-8")
    # Triton wants a version's folder of an ensemble too, though nothing stands in it.
    (target / VERSION).mkdir(exist_ok=True)
    if code.replaces(folder):
        log_replaced(folder)
    if singly:
        (target / SOURCE).symlink_to(folder, target_is_directory=True)
        for path in (folder / VERSION).iterdir():
            if path.name == COMPILED:
                continue
            (target / VERSION / path.name).symlink_to(code.file(path) if path.name == CODE else path)


def _check_code(folder: Path, code: EngineCode) -> None:
    try:
        code.check(folder)
    except BadConfigError as error:
        raise _bad_config(folder / CONFIG, error) from error


def _models(repository: Path) -> dict[str, Path]:
    return {path.parent.name: path.parent.resolve() for path in sorted(repository.glob(f"*/{CONFIG}"))}
