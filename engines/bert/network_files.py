"""Finds the network in the folder of a model's version."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def network_file(version: Path) -> Path:
    """Return the one ``.onnx`` file of a version's folder, whatever its name.

    Raises:
        ValueError: there is none, or more than one.
    """
    files = sorted(version.glob("*.onnx"))
    if len(files) != 1:
        raise ValueError(
            f"{version} must hold one .onnx file, but has {len(files)}: put the network of this version there"
        )
    return files[0]
