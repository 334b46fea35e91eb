"""What an unpacked ``.nemo`` archive holds: its configuration and the files that this names, as ``nemo:FILE``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from modelkit.errors import CheckpointError
from modelkit.importing.archive import unpack
from modelkit.text_files import read_text

CONFIG, WEIGHTS = "model_config.yaml", "model_weights.ckpt"
_MAX_TEXT = 64 << 20
"""Bytes that a configuration, a vocabulary or a file of labels may have; the greatest vocabularies have 5 million."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An unpacked archive.

    Attributes:
        path: of the archive itself.
        files: its members by name.
        config: what ``model_config.yaml`` says.
    """

    path: Path
    files: dict[str, Path]
    config: dict[str, Any]

    @classmethod
    def open(cls, path: Path, scratch: Path) -> Archive:
        """Unpacks an archive into ``scratch`` and reads its configuration.

        Raises:
            CheckpointError: it is damaged, not to be trusted, or no archive of NeMo.
            DataError: its configuration is no text.
        """
        files = unpack(path, scratch)
        missing = [name for name in (CONFIG, WEIGHTS) if name not in files]
        if missing:
            raise CheckpointError(f"{path} has no {' and no '.join(missing)}: give an archive that NeMo saved")
        text = _read(path, files, CONFIG)
        try:
            config = yaml.load(text, _PlainLoader)  # noqa: S506 - it is a SafeLoader
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise CheckpointError(f"{path}: {CONFIG} is no plain YAML ({error}): get the archive again") from error
        if not isinstance(config, dict):
            raise CheckpointError(f"{path}: {CONFIG} is no configuration: get the archive again")
        return cls(path, files, config)

    def get(self, key: str) -> Any:  # noqa: ANN401 - YAML holds anything
        """Returns the value of a dotted key, or None."""
        value: Any = self.config
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def word(self, key: str) -> str:
        """Returns the text of a dotted key, empty where there is none.

        Raises:
            CheckpointError: it is no text.
        """
        value = self.get(key)
        if value is not None and not isinstance(value, str):
            raise CheckpointError(f"{self.path}: {CONFIG} gives no text for {key}: save the model again")
        return value or ""

    def number(self, key: str) -> float:
        """Returns the number of a dotted key, 0 where there is none.

        Raises:
            CheckpointError: it is no number.
        """
        try:
            value = float(self.get(key) or 0)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            raise CheckpointError(f"{self.path}: {CONFIG} gives no number for {key}: save the model again")
        return value

    def artifact(self, key: str) -> str | None:
        """Returns the text of the file that a dotted key names, or None where the key names none.

        Raises:
            CheckpointError: the archive lacks that file, or it is too long for a text.
            DataError: it is no text.
        """
        value = self.word(key)
        if not value:
            return None
        name = PurePosixPath(value.removeprefix("nemo:")).name
        if name not in self.files:
            raise CheckpointError(f"{self.path} lacks {name}, which {CONFIG} names as {key}: save the model again")
        return _read(self.path, self.files, name)


class _PlainLoader(yaml.SafeLoader):
    """Reads YAML without aliases, of which a few lines can stand for more than fits into memory; NeMo writes none."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Composes the next node."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has aliases")
        return super().compose_node(parent, index)


def _read(path: Path, files: dict[str, Path], name: str) -> str:
    if files[name].stat().st_size > _MAX_TEXT:
        raise CheckpointError(f"{path}: {name} has more than {_MAX_TEXT >> 20} MiB: that is no text of NeMo")
    return read_text(files[name], name=f"{path}: {name}")
