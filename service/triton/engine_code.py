"""Code of engine directories: the shipped models', unless allowed otherwise.

An engine directory may come from anywhere, and Triton runs a model's code as the service's user. Several things in it
choose code: ``model.py``, a Python backend of its own, another version's folder, and fields of ``config.pbtxt`` that
name an environment, a file or a library (Triton's Python backend, "Using Custom Python Execution Environments" and
"Building Custom Python Backend Stub"). All but data is refused; the code comes from the model repository.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.models.triton import BadConfigError, named_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CODE = "model.py"
CONFIG = "config.pbtxt"
VERSION = "1"
"""Folder of a model's only version."""
COMPILED = "__pycache__"
"""Python may run what is compiled here in place of the file beside it: it is passed over, and never linked."""
_DATA = frozenset({".bin", ".data", ".json", ".npz", ".onnx", ".safetensors", ".txt"})
_STAGE = re.compile(r"_stage_[1-9]\d*$")
"""End of the name of a stage of a network, as ``vivavoce split`` writes it."""
_MARKERS = frozenset({".gitkeep", "built"})
_CURE = "take it out, or serve with --engine-code if you trust who made the engine"

_log = logging.getLogger(__name__)


class EngineCodeError(ValueError):
    """An engine directory brings code; the message names the file and the cure."""


@dataclass(frozen=True, slots=True)
class EngineCode:
    """Decides which code is run for the models of engine directories.

    Attributes:
        repository: the model repository whose code is run; None where engines may bring their own.
    """

    repository: Path | None = None

    def check(self, folder: Path) -> None:
        """Check that a model holds nothing that chooses code.

        Args:
            folder: of one model of an engine directory, ``ENGINE/triton/MODEL``.

        Raises:
            EngineCodeError: it does.
            BadConfigError: its ``config.pbtxt`` cannot be read.
            OSError: a file cannot be looked at.
        """
        if self.repository is None:
            return
        for path in _files(folder):
            place = path.relative_to(folder)
            if place.parts in {(CONFIG,), (VERSION, CODE)}:
                continue
            is_data = place.suffix in _DATA or place.name in _MARKERS
            if place.parts[0] != VERSION or not is_data:
                raise EngineCodeError(f"{path} is no file of an engine, and may hold code: {_CURE}")
        _check_config(folder / CONFIG)
        own = folder / VERSION / CODE
        if own.exists() and not self.file(own).is_file():
            raise EngineCodeError(f"{folder} is a model with code that this service does not ship: {_CURE}")

    def replaces(self, folder: Path) -> bool:
        """Return whether a model's ``model.py`` differs from the one that runs."""
        own = folder / VERSION / CODE
        return own.exists() and own.read_bytes() != self.file(own).read_bytes()

    def links_singly(self, folder: Path) -> bool:
        """Return whether a model's files must be linked one by one."""
        if self.repository is None:
            return False
        return (folder / VERSION / COMPILED).exists() or self.replaces(folder)

    def file(self, own: Path) -> Path:
        """Return the ``model.py`` to run in place of ``own``.

        Stages run that of their network.
        """
        if self.repository is None:
            return own
        return self.repository / _STAGE.sub("", own.parent.parent.name) / VERSION / CODE


def log_replaced(folder: Path) -> None:
    """Say in the log that the code of a model in an engine directory is not run."""
    _log.warning("%s is not run: the shipped code of this model is run in its place", folder / VERSION / CODE)


ANY_CODE = EngineCode()
"""Whatever a model brings is run."""


def _files(folder: Path) -> Iterator[Path]:
    """List all files below a folder through links; stop at a cycle."""
    seen: set[Path] = set()
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        if (real := current.resolve()) in seen:
            raise EngineCodeError(f"{current} leads back to a folder above it: take it out")
        seen.add(real)
        for path in sorted(current.iterdir()):
            if path.name == COMPILED:
                continue
            if path.is_dir():
                waiting.append(path)
            elif path.is_file() or not path.exists():
                yield path
            else:
                raise EngineCodeError(f"{path} is neither a file nor a folder: take it out")


def _check_config(path: Path) -> None:
    """Raise EngineCodeError where a ``config.pbtxt`` names code to run."""
    try:
        named = named_code(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise BadConfigError(str(error)) from error
    if named:
        raise EngineCodeError(f"{path} sets {named}, which chooses the code to be run: {_CURE}")
