"""Steps between matrix products in plain PyTorch: reference and fallback.

Each step may leave its result rounded to 8 bits besides, for the product that follows: fused, that costs no reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch.nn import functional

from engines.bert.gpu.precision import Rounded, round_rows

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Step = tuple["Tensor", Rounded | None]
"""A result, and the same rounded to 8 bits where that was asked for."""


class Norm:
    """Scale, shift and epsilon of a layer normalization (Ba et al., 2016)."""

    __slots__ = ("bias", "epsilon", "weight")

    def __init__(self, weight: Tensor, bias: Tensor, epsilon: float) -> None:
        self.weight = weight
        self.bias = bias
        self.epsilon = epsilon


class Ops(Protocol):
    """Steps between products, on ``[tokens, columns]``; ``operand``: 8-bit type."""

    def add_norm(self, values: Tensor, residual: Tensor, norm: Norm, operand: torch.dtype | None) -> Step:
        """Normalize ``values + residual``."""

    def gelu(self, values: Tensor, operand: torch.dtype | None) -> Step:
        """Apply GELU (Hendrycks and Gimpel, 2016); an 8-bit first result may be empty."""

    def round(self, values: Tensor, operand: torch.dtype) -> Rounded:
        """Round to 8 bits."""

    def rescale(self, sums: Tensor, rows: Tensor, columns: Tensor, bias: Tensor) -> Tensor:
        """Convert int32 sums to the type of ``bias``: sums times scales, plus bias."""


class TorchOps:
    """The steps in plain PyTorch, for any device; see :class:`Ops`."""

    def add_norm(self, values: Tensor, residual: Tensor, norm: Norm, operand: torch.dtype | None) -> Step:
        """See :class:`Ops`."""
        total = values.float() + residual.float()
        normed = functional.layer_norm(total, total.shape[-1:], norm.weight.float(), norm.bias.float(), norm.epsilon)
        return normed.to(values.dtype), None if operand is None else round_rows(normed, operand)

    def gelu(self, values: Tensor, operand: torch.dtype | None) -> Step:
        """See :class:`Ops`."""
        applied = functional.gelu(values.float())
        return applied.to(values.dtype), None if operand is None else round_rows(applied, operand)

    def round(self, values: Tensor, operand: torch.dtype) -> Rounded:
        """See :class:`Ops`."""
        return round_rows(values, operand)

    def rescale(self, sums: Tensor, rows: Tensor, columns: Tensor, bias: Tensor) -> Tensor:
        """See :class:`Ops`."""
        return (sums.float() * rows * columns + bias.float()).to(bias.dtype)
