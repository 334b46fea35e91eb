"""Engine directories of candidates whose networks are cut into stages."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
from typing import TYPE_CHECKING

from benchmarks.tuning.space import ASR, INTENT, QA
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.tuning.space import Candidate

_SHIPPED = {QA: QA_MODELS, INTENT: NLU_MODELS, ASR: (ASR,)}
"""Models of the shipped engine that each network belongs to."""
_MADE = re.compile(rf"({'|'.join(_SHIPPED)})_(\d+|shipped)")
"""Names of the engine directories that are made here."""


def can_split() -> bool:
    """Return whether what cutting a network needs is installed."""
    return all(importlib.util.find_spec(name) for name in ("torch", "transformers"))


class StagedEngines:
    """Engine directories in stages, each made when a candidate first wants it.

    Args:
        folder: for them; need not exist.
        engines: engine directories that take the places of the shipped engines.
    """

    def __init__(self, folder: Path, engines: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._engines = tuple(engines)

    def of(self, candidate: Candidate) -> list[Path]:
        """Return the engine directories to serve a candidate with.

        Raises:
            ModelkitError: a network cannot be cut so; the message says why.
        """
        chosen = list(self._engines)
        if not candidate.stages():
            return chosen
        from modelkit.splitting.engine import split_engine  # noqa: PLC0415 - loads PyTorch

        for model, stages in candidate.stages().items():
            source = next((engine for engine in reversed(chosen) if (engine / "triton" / model).is_dir()), None)
            target = self._path(model, stages)
            if not target.is_dir():
                split_engine(source or self._shipped(model), stages, target)
            chosen = [engine for engine in chosen if engine != source] + [target]
        return chosen

    def keep(self, candidate: Candidate) -> None:
        """Remove all that was made but what a candidate is served with."""
        if not self._folder.is_dir():
            return
        kept = {self._path(*each) for each in candidate.stages().items()}
        for path in self._folder.iterdir():
            if _MADE.fullmatch(path.name) and path not in kept:
                shutil.rmtree(path)
        with contextlib.suppress(OSError):  # something is left in it
            self._folder.rmdir()

    def _path(self, model: str, stages: int) -> Path:
        return self._folder / f"{model}_{stages}"

    def _shipped(self, model: str) -> Path:
        """Return an engine directory of the shipped models."""
        engine = self._folder / f"{model}_shipped"
        (engine / "triton").mkdir(parents=True, exist_ok=True)
        for name in _SHIPPED[model]:
            if not (link := engine / "triton" / name).exists():
                link.symlink_to(MODEL_REPOSITORY / name, target_is_directory=True)
        return engine
