"""Runs a BERT on onnxruntime over the rows of several requests at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engines.bert.tensorrt import GROUP_TOKENS, profile
from engines.session import HIDDEN, NEXT_HIDDEN, ONNX_RUNTIME, load_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator
    from engines.session import Session

MASK = "attention_mask"
INPUTS = ("input_ids", MASK, "token_type_ids")
"""What a network may read, as :class:`engines.bert.tokenizing.TokenBatch` has it; all but the mask may be missing."""
_MAX_GROUP_TOKENS = 2048
"""Tokens, padding included, of one call. On a CPU a larger batch takes more memory and as long a token."""
_MAX_PADDED_SHARE = 0.25


class _Row(NamedTuple):
    """Place and length of a row."""

    request: int
    row: int
    length: int


class BertSession:
    """BERT exported to ONNX with int64 inputs ``[rows, tokens]``, or one stage of it.

    Stages compute, bit for bit, what the whole does: each groups the rows of a request alike, and hands on the vectors
    at padding too.

    Args:
        path: the ``.onnx`` file. An output whose second axis is called ``tokens`` has a value or vector a token, any
            other one a vector a row.
        threads: cores that one call may use.
        accelerator: what computes.

    Attributes:
        sizes: those of each input's axes, or their names.
        inputs: names of the inputs.

    Raises:
        ValueError: the model has no ``attention_mask``, or an input that no tokenizer gives.
        AcceleratorError: the accelerator cannot be used here.
    """

    def __init__(self, path: Path, threads: int = 2, accelerator: Accelerator = ONNX_RUNTIME) -> None:
        tensorrt = accelerator.name == "tensorrt"
        options = profile(BertSession(path, threads).sizes) if tensorrt else None
        self._session: Session = load_session(path, threads, accelerator=accelerator, options=options)
        self._group_tokens = GROUP_TOKENS if tensorrt else _MAX_GROUP_TOKENS
        self.sizes: dict[str, tuple[int | str, ...]] = {
            node.name: tuple(node.shape) for node in self._session.get_inputs()
        }
        self.inputs: tuple[str, ...] = tuple(self.sizes)
        self.outputs = tuple(node.name for node in self._session.get_outputs())
        self._per_token = tuple(list(node.shape[1:2]) == ["tokens"] for node in self._session.get_outputs())
        if MASK not in self.inputs or not set(self.inputs) <= {*INPUTS, HIDDEN}:
            wanted = f"needs {MASK}, and may have of the others {', '.join(n for n in INPUTS if n != MASK)}"
            raise ValueError(f"{path} has the inputs {', '.join(self.inputs)}, but {wanted}: export it again")

    def run(self, requests: Sequence[Mapping[str, npt.NDArray[Any]]]) -> list[dict[str, npt.NDArray[np.float32]]]:
        """Run all rows of all requests, those of like length together.

        Args:
            requests: for each the model's inputs, ``[rows, tokens]`` int64 and the hidden state ``[rows, tokens,
                width]`` float32, padded on the right; rows and tokens may differ from request to request.

        Returns:
            For each request the model's outputs, ``[rows, tokens, …]`` or ``[rows, …]`` float32; zeros at padding but
            in hidden states.
        """
        rows = [
            _Row(number, index, int(length))
            for number, request in enumerate(requests)
            for index, length in enumerate(request[MASK].sum(axis=1))
        ]
        results: list[dict[str, npt.NDArray[np.float32]]] = [{} for _ in requests]
        for group in group_rows([row.length for row in rows], self._group_tokens):
            members = [rows[member] for member in group]
            width = max(member.length for member in members)
            feeds = {
                name: _pad(
                    [requests[m.request][name][m.row, : width if name == HIDDEN else m.length] for m in members], width
                )
                for name in self.inputs
            }
            outputs = self._session.run(None, feeds)
            for name, per_token, output in zip(self.outputs, self._per_token, outputs, strict=True):
                for member, values in zip(members, output, strict=True):
                    shape = requests[member.request][MASK].shape
                    kept = member if name != NEXT_HIDDEN else member._replace(length=min(shape[1], width))
                    _store(results[member.request], name, kept, shape if per_token else shape[:1], values)
        return results


def _store(
    result: dict[str, npt.NDArray[np.float32]],
    name: str,
    row: _Row,
    shape: tuple[int, ...],
    values: npt.NDArray[np.float32],
) -> None:
    """Write a row's values into its request's output."""
    per_token = len(shape) == 2
    target = result.setdefault(name, np.zeros((*shape, *values.shape[per_token:]), np.float32))
    if per_token:
        target[row.row, : row.length] = values[: row.length]
    else:
        target[row.row] = values


def _pad(rows: Sequence[npt.NDArray[Any]], width: int) -> npt.NDArray[Any]:
    padded = np.zeros((len(rows), width, *rows[0].shape[1:]), rows[0].dtype)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded


def group_rows(lengths: Sequence[int], max_tokens: int = _MAX_GROUP_TOKENS) -> list[list[int]]:
    """Group rows of similar length, up to a bound.

    Args:
        lengths: tokens of each row.
        max_tokens: of a group, padding included; a row that is longer is a group of its own.

    Returns:
        Indices of the rows of each group; every row is in exactly one.
    """
    groups: list[list[int]] = []
    filled = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        length = lengths[index]
        padded = (len(groups[-1]) + 1) * length if groups else 0
        if not groups or padded > max_tokens or padded - filled - length > _MAX_PADDED_SHARE * padded:
            groups.append([])
            filled = 0
        groups[-1].append(index)
        filled += length
    return groups
