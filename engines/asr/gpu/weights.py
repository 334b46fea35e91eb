"""Reads Moonshine's weights, as ``engines.build.moonshine_network`` wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open

from engines.asr.gpu.names import FORMAT, FORMAT_KEY, HEAD_SIZE, HEADS, MATRIX_PARTS

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from engines.asr.gpu.linear import Dense


class Weights:
    """The weights by name, dequantized to float32 on the CPU.

    Args:
        tensors: as they stand in the file.
    """

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self._tensors = tensors

    @classmethod
    def read(cls, path: Path) -> Weights:
        """Reads a file.

        Raises:
            ValueError: it is damaged or holds something else; the message names it.
        """
        try:
            with safe_open(path, framework="pt") as file:
                if (file.metadata() or {}).get(FORMAT_KEY) != FORMAT:
                    raise ValueError("it is of another kind")  # noqa: TRY301 - told with all else that is wrong
                return cls({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 - it is no mapping
        except (SafetensorError, OSError, ValueError) as error:
            raise ValueError(
                f"{path} holds no weights of Moonshine ({error}): make it with python -m engines.build.moonshine --gpu"
            ) from error

    def tensor(self, name: str) -> Tensor:
        """Returns a tensor.

        Raises:
            ValueError: there is none of that name.
        """
        if name not in self._tensors:
            raise ValueError(f"the weights lack {name}: make them again with python -m engines.build.moonshine --gpu")
        return self._tensors[name]

    def dense(self, name: str) -> Dense:
        """Returns a matrix ``[outputs, inputs]`` and its bias ``[outputs]``."""
        weight, scale, zero_point, bias = (self.tensor(f"{name}.{part}") for part in MATRIX_PARTS)
        return ((weight.float() - zero_point.float()) * scale).t().contiguous(), bias.float()


def widen_outputs(dense: Dense, size: int) -> Dense:
    """Widens every head that a projection returns to ``size`` entries, of which the new ones are zero."""
    weight, bias = dense
    rows = weight.view(HEADS, HEAD_SIZE, -1)
    wide = torch.zeros(HEADS, size, rows.shape[2])
    wide[:, :HEAD_SIZE] = rows
    wide_bias = torch.zeros(HEADS, size)
    wide_bias[:, :HEAD_SIZE] = bias.view(HEADS, HEAD_SIZE)
    return wide.flatten(0, 1), wide_bias.flatten()


def widen_inputs(dense: Dense, size: int) -> Dense:
    """Widens every head that enters a projection to ``size`` entries, of which the new ones have no influence."""
    weight, bias = dense
    wide = torch.zeros(len(weight), HEADS, size)
    wide[:, :, :HEAD_SIZE] = weight.view(-1, HEADS, HEAD_SIZE)
    return wide.flatten(1), bias


def turned(dense: Dense, size: int) -> Dense:
    """Returns the projection whose results are those of ``dense`` turned by 90 degrees, pair by pair.

    Rotary position embedding (Su et al., 2021) is then ``x * cosines + turned_x * sines``: of each pair of neighbours
    ``(a, b)`` the turned one is ``(-b, a)``. Heads have ``size`` entries.
    """
    weight, bias = dense
    pairs = weight.view(HEADS, size // 2, 2, -1)
    bias_pairs = bias.view(HEADS, size // 2, 2)
    return (
        torch.stack((-pairs[:, :, 1], pairs[:, :, 0]), 2).reshape(weight.shape),
        torch.stack((-bias_pairs[:, :, 1], bias_pairs[:, :, 0]), 2).reshape(bias.shape),
    )


def joined(*parts: Dense) -> Dense:
    """Joins projections of the same input into one, whose outputs stand side by side."""
    return torch.cat([weight for weight, _ in parts]), torch.cat([bias for _, bias in parts])


def rotary_tables(inverse_frequencies: Tensor, positions: int, size: int) -> tuple[Tensor, Tensor]:
    """Returns cosines and sines for heads of ``size`` entries, ``[positions, size]`` each; the last are not turned."""
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * inverse_frequencies.double()
    angles = torch.nn.functional.pad(angles.repeat_interleave(2, 1), (0, size - 2 * len(inverse_frequencies)))
    return angles.cos().float(), angles.sin().float()
