"""Lays engines that a user trained or imported over the shipped models, as one Triton model repository of links."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.triton import MODEL_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class NoEngineError(FileNotFoundError):
    """What should be an engine directory is none; the message names it."""


@contextlib.contextmanager
def composed(default: Path, engines: Sequence[Path]) -> Iterator[Path]:
    """Gives a model repository with the models of ``default`` and of ``engines`` while the body runs.

    Args:
        default: a model repository; it stays as it is, whatever comes into the composed one later.
        engines: engine directories, whose ``triton/`` holds models. Of two models with one name the later one counts.

    Raises:
        FileNotFoundError: there is no such model repository, or it lacks an engine.
        NoEngineError: an engine directory holds no models.
    """
    models = overlaid(default, engines)
    with tempfile.TemporaryDirectory(prefix="vivavoce-models-") as directory:
        for name, folder in models.items():
            Path(directory, name).symlink_to(folder, target_is_directory=True)
        yield Path(directory)


def overlaid(default: Path, engines: Sequence[Path]) -> dict[str, Path]:
    """Finds the folder of every model, by name; see :func:`composed`."""
    if not default.is_dir():
        raise FileNotFoundError(f"there is no model repository at {default}: name one with --model-repository")
    models = _models(default)
    for engine in engines:
        found = _models(engine / "triton")
        if not found:
            raise NoEngineError(
                f"{engine} is no engine directory: it needs a folder triton/ with models, as `vivavoce train` writes it"
            )
        models |= found
    missing = [name for name in MODEL_NAMES if name not in models]
    if missing:
        raise FileNotFoundError(f"the model repository {default} has no model {' and no '.join(missing)}: add it")
    return models


def _models(repository: Path) -> dict[str, Path]:
    return {path.parent.name: path.parent.resolve() for path in sorted(repository.glob("*/config.pbtxt"))}
