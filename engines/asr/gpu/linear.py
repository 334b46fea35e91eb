"""Matrix products and normalization of Moonshine's layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

Dense = tuple["Tensor", "Tensor"]
"""A matrix ``[outputs, inputs]`` and its bias ``[outputs]``."""
_EPSILON = 1e-5


class Linear:
    """A product with a matrix, and its bias where it has one."""

    __slots__ = ("_bias", "_weight")

    def __init__(self, dense: Dense, device: torch.device, dtype: torch.dtype) -> None:
        weight, bias = dense
        self._weight = weight.to(device, dtype)
        self._bias = bias.to(device, dtype) if bool(bias.any()) else None

    def __call__(self, values: Tensor) -> Tensor:
        """Multiplies ``[…, inputs]`` to ``[…, outputs]``."""
        return functional.linear(values, self._weight, self._bias)


class Norm:
    """Layer normalization of the last axis, without a shift."""

    __slots__ = ("_weight",)

    def __init__(self, weight: Tensor, device: torch.device, dtype: torch.dtype) -> None:
        self._weight = weight.to(device, dtype)

    def __call__(self, values: Tensor) -> Tensor:
        """Normalizes ``[…, width]``."""
        return functional.layer_norm(values, self._weight.shape, self._weight, None, _EPSILON)


def float_product(values: Tensor, weight: Tensor) -> Tensor:
    """Multiplies ``[rows, inputs]`` by ``[outputs, inputs]`` to float32, whatever the type of the operands.

    Logits in half precision would be the same for several tokens. A GPU sums in float32 anyway.
    """
    if values.device.type == "cuda" and values.dtype != torch.float32:
        return torch.mm(values, weight.t(), out_dtype=torch.float32)
    return values.float() @ weight.float().t()
