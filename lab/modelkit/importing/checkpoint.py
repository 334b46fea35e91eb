"""Finds out what a source is, and reads it with the reader of its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modelkit.errors import CheckpointError
from modelkit.importing.onnx_file import OnnxOptions, read_onnx

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from modelkit.importing.engine import Imported

_WEIGHTS = ("*.safetensors", "*.bin", "*.index.json")


def read_checkpoint(sources: Sequence[Path], scratch: Path, options: OnnxOptions | None = None) -> Imported:
    """Reads a Hugging Face directory or two, an ONNX file or a folder with one, or a ``.nemo`` archive.

    Args:
        sources: one path, or two of Hugging Face directories.
        scratch: an empty folder for what is made.
        options: all but the task and the scheme are for ONNX.

    Raises:
        CheckpointError: the source is nothing of that, is incomplete, or is for another task than is asked for.
        DataError: a file is no text.
    """
    given = options or OnnxOptions()
    for path in sources:
        if not path.exists():
            raise CheckpointError(f"{path} does not exist: check its name")
    imported = _read(sources, scratch, given)
    if given.task not in (None, imported.task):
        raise CheckpointError(f"{sources[0]} is a network for {imported.card['task']}: leave out --task {given.task}")
    return imported


def _read(sources: Sequence[Path], scratch: Path, options: OnnxOptions) -> Imported:
    first = sources[0]
    if len(sources) == 2 and not all(path.is_dir() for path in sources):
        raise CheckpointError("two sources are two Hugging Face directories: give both as folders, or one source")
    if (onnx := _onnx_of(first)) is not None and len(sources) == 1:
        return read_onnx(onnx, scratch, options)
    # These readers need torch, which reading ONNX does not.
    if first.is_dir():
        from modelkit.importing.hugging_face import read_hugging_face  # noqa: PLC0415

        return read_hugging_face(sources, scratch, options.scheme)
    from modelkit.importing.nemo import read_nemo  # noqa: PLC0415

    return read_nemo(first, scratch, options.scheme)


def _onnx_of(path: Path) -> Path | None:
    """Returns the ONNX file that a path is, or that lies alone in a folder without other weights."""
    if path.is_file():
        return path if path.suffix == ".onnx" else None
    networks = sorted(path.glob("*.onnx"))
    return networks[0] if len(networks) == 1 and not any(any(path.glob(p)) for p in _WEIGHTS) else None
