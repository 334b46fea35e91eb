"""What is sent: inputs from a file, or made up for the shapes and types that a model declares."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tritonclient.utils import triton_to_np_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from tritonclient.grpc import model_config_pb2

_DEFAULT_LENGTH = 32
_CONSTANT = {"ATTENTION_MASK": 1, "TOKEN_TYPE_IDS": 0}
"""Inputs of BERTs, of which only some values are valid."""
_WORDS = ("wake", "me", "up", "at", "seven", "tomorrow", "and", "tell", "what", "the", "weather", "will", "be", "like")


@dataclass(frozen=True, slots=True)
class InputSpec:
    """An input that a model declares.

    Attributes:
        name: as in ``config.pbtxt``.
        datatype: Triton's name of the type, such as ``FP32``.
        shape: without the batch dimension; -1 where any length will do.
        batched: whether a batch dimension stands before ``shape``.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    batched: bool


def declared_inputs(model: model_config_pb2.ModelConfig) -> list[InputSpec]:
    """Lists the inputs that every request to a model must have."""
    names = type(model.input[0]).DESCRIPTOR.fields_by_name["data_type"].enum_type.values_by_number
    return [
        InputSpec(
            entry.name,
            {"TYPE_STRING": "BYTES"}.get(name := names[entry.data_type].name, name.removeprefix("TYPE_")),
            tuple(entry.dims),
            model.max_batch_size > 0,
        )
        for entry in model.input
        if not entry.optional
    ]


def made_up(
    specs: Sequence[InputSpec], lengths: Mapping[str, Sequence[int]], rng: np.random.Generator
) -> dict[str, npt.NDArray[Any]]:
    """Makes one item's inputs, each of its declared shape.

    Args:
        specs: what the model declares.
        lengths: shapes for the inputs that may have any; 32 where none is named.
        rng: chooses the values: small positive integers, floats from -1 to 1, words. A BERT's attention mask is all
            ones and its token types are zeros, as for one text without padding; every flag is off.

    Raises:
        ValueError: the model declares no input of a name in ``lengths``.
    """
    for name in lengths:
        if all(spec.name != name for spec in specs):
            raise ValueError(f"there is no input {name}: name one of {', '.join(spec.name for spec in specs)}")
    return {spec.name: _values(spec, lengths.get(spec.name), rng) for spec in specs}


def _values(spec: InputSpec, lengths: Sequence[int] | None, rng: np.random.Generator) -> npt.NDArray[Any]:
    shape = tuple(lengths) if lengths else tuple(_DEFAULT_LENGTH if size < 0 else size for size in spec.shape)
    if spec.datatype == "BYTES":
        values = np.empty(shape, np.object_)
        for position in np.ndindex(*shape):
            values[position] = " ".join(rng.permutation(_WORDS)).encode()
        return values
    dtype = np.dtype(triton_to_np_dtype(spec.datatype))
    if spec.name.upper() in _CONSTANT:
        return np.full(shape, _CONSTANT[spec.name.upper()], dtype)
    if dtype.kind == "b":
        return np.zeros(shape, dtype)
    if dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(0, 1000, shape).astype(dtype)


def read_inputs(path: Path, specs: Sequence[InputSpec]) -> list[dict[str, npt.NDArray[Any]]]:
    """Reads items from a file: a JSON object a line, with a value or a list of values for every input by its name.

    Raises:
        ValueError: a line lacks an input or has values of another shape; the message names it.
    """
    items = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                fields = json.loads(line)
                items.append({spec.name: _parsed(fields[spec.name], spec) for spec in specs})
            except (ValueError, KeyError, TypeError) as error:
                wanted = ", ".join(f"{spec.name} {list(spec.shape)}" for spec in specs)
                raise ValueError(f"{path}, line {number}: {error!r}; a line needs {wanted}") from error
    if not items:
        raise ValueError(f"{path} holds no inputs; add a JSON object a line")
    return items


def _parsed(value: object, spec: InputSpec) -> npt.NDArray[Any]:
    if spec.datatype == "BYTES":
        texts = np.array(value, np.object_)
        values = np.frompyfunc(str.encode, 1, 1)(texts) if texts.ndim else np.array(str(value).encode(), np.object_)
    else:
        values = np.array(value, triton_to_np_dtype(spec.datatype))
    if values.ndim == 0:
        values = values.reshape((1,) * len(spec.shape))
    if values.ndim != len(spec.shape):
        raise ValueError(f"{spec.name} has {values.ndim} dimensions")
    return values


def in_batches(
    items: Sequence[Mapping[str, npt.NDArray[Any]]], specs: Sequence[InputSpec], size: int
) -> list[dict[str, npt.NDArray[Any]]]:
    """Groups items into requests of ``size``, going round where they run out; a model without batches takes one each.

    Raises:
        ValueError: the model takes no batches, or items of one batch differ in shape.
    """
    if not all(spec.batched for spec in specs):
        if size != 1:
            raise ValueError("the model takes no batches (max_batch_size is 0): measure it with batch size 1")
        return [dict(item) for item in items]
    count = max(1, -(-len(items) // size))
    groups = [[items[(first * size + k) % len(items)] for k in range(size)] for first in range(count)]
    return [{spec.name: np.stack([item[spec.name] for item in group]) for spec in specs} for group in groups]
