"""Reads the tensors of a checkpoint, from safetensors or from a pickle that may hold nothing but tensors."""

from __future__ import annotations

import json
import pickle
import re
from typing import TYPE_CHECKING, BinaryIO

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from modelkit.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

State = dict[str, torch.Tensor]

_SAFE = "model.safetensors"
_PICKLED = "pytorch_model.bin"
_INDEX = ".index.json"
_RUNS_CODE = re.compile(r"unsupported (global|class)|trying to (instantiate|call)", re.IGNORECASE)
"""What torch says of a pickle that asks for more than tensors, and does not say of a damaged one."""


def read_state(directory: Path) -> State:
    """Reads all tensors of a Hugging Face directory; safetensors are preferred, shards are joined.

    Raises:
        CheckpointError: there are none, a file is damaged, or a pickle holds more than tensors.
    """
    for name in (_SAFE, _PICKLED):
        if (directory / name).is_file():
            return _read_file(directory / name)
        if (directory / f"{name}{_INDEX}").is_file():
            shards = _shards(directory, directory / f"{name}{_INDEX}")
            return {key: tensor for shard in shards for key, tensor in _read_file(shard).items()}
    raise CheckpointError(f"{directory} has no weights: it needs {_SAFE} or {_PICKLED}")


def read_pickled(file: Path | BinaryIO, name: str) -> State:
    """Reads tensors by their names from what ``torch.save`` wrote; whatever else is pickled there is refused, not run.

    Args:
        file: what to read.
        name: what to call it in errors.

    Raises:
        CheckpointError: the file is damaged, or is no mapping of names to tensors.
    """
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if _RUNS_CODE.search(str(error)):
            raise CheckpointError(
                f"{name} holds more than tensors, and reading it could run code: save its state_dict as safetensors"
            ) from error
        raise CheckpointError(f"{name} is no file of PyTorch, or damaged: get it again") from error
    except Exception as error:
        # The unpickler raises whatever it happens to meet in damaged bytes: IndexError, struct.error, AssertionError.
        raise CheckpointError(f"{name} is truncated or damaged: get it again") from error
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    if not isinstance(state, dict) or not all(
        isinstance(key, str) and isinstance(tensor, torch.Tensor) for key, tensor in state.items()
    ):
        raise CheckpointError(f"{name} is no mapping of names to tensors: save the network's state_dict")
    return dict(state)


def _read_file(path: Path) -> State:
    if path.suffix != ".safetensors":
        return read_pickled(path, str(path))
    try:
        return dict(load_file(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is truncated or no safetensors file ({error}): get it again") from error


def _shards(directory: Path, index: Path) -> Sequence[Path]:
    """Lists the files that an index names, which must lie beside it."""
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise CheckpointError(f"{index} is no index of weights: get it again") from error
    for name in names:
        if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\\" in name:
            raise CheckpointError(f"{index} names {name!r}, which does not lie beside it: get the checkpoint anew")
        if not (directory / name).is_file():
            raise CheckpointError(f"{directory} lacks {name}, which {index.name} names: get the missing file")
    return [directory / name for name in names]
