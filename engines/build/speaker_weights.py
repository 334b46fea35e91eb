"""Reads the weights of Resemblyzer's checkpoint without PyTorch.

The checkpoint has PyTorch's form of before version 1.6: a few pickles, and then the numbers of each storage. Only what
tensors are made of is read, and whatever else a pickle may name is refused.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_MAGIC = 0x1950A86A20F9469CFC6C
_HEADER_PICKLES = 3
"""Magic number, version of the protocol, and sizes of the machine's types, in this order."""


class CheckpointError(RuntimeError):
    """A checkpoint of another form, or one that names what is not read."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class _Unpickler(pickle.Unpickler):
    """Unpickler of dictionaries of float32 tensors."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - what the pickle names
        """Return what a checkpoint needs.

        Raises:
            CheckpointError: it names something else.
        """
        match module, name:
            case "collections", "OrderedDict":
                return OrderedDict
            case "torch._utils", "_rebuild_tensor_v2":
                return _tensor
            case "torch", "FloatStorage":
                return "float32"
        raise CheckpointError(f"the checkpoint names {module}.{name}: use the file of the named version")

    def persistent_load(self, pid: tuple[Any, ...]) -> str:
        """Return the name of a storage."""
        return str(pid[2])


def _tensor(storage: str, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: object) -> _Tensor:
    return _Tensor(storage, offset, shape, stride)


def read_weights(data: bytes, entry: str) -> dict[str, npt.NDArray[np.float32]]:
    """Read the tensors of one entry of a checkpoint, float32, by name.

    Raises:
        CheckpointError: the data have another form.
    """
    stream = io.BytesIO(data)
    try:
        header = [_Unpickler(stream).load() for _ in range(_HEADER_PICKLES)]
        if header[0] != _MAGIC:
            raise CheckpointError("the checkpoint has another form: use the file of the named version")
        content, storages = _Unpickler(stream).load(), _Unpickler(stream).load()
        numbers = {}
        for name in storages:
            (count,) = struct.unpack("<q", stream.read(8))
            numbers[name] = np.frombuffer(stream.read(4 * count), "<f4")
        return {name: _array(found, numbers[found.storage]) for name, found in content[entry].items()}
    except (pickle.UnpicklingError, KeyError, ValueError, struct.error, EOFError, AttributeError) as error:
        raise CheckpointError(f"the checkpoint is damaged ({error}): use the file of the named version") from error


def _array(tensor: _Tensor, numbers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    strides = [4 * step for step in tensor.stride]
    view = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, strides, writeable=False)
    return np.ascontiguousarray(view, np.float32)
