"""The matrix products of a layer, in half precision or with 8-bit operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch
from torch.nn import functional

from engines.bert.gpu.precision import Precision, Rounded, round_rows

if TYPE_CHECKING:
    from torch import Tensor

    from engines.bert.gpu.ops import Ops


class Linear(Protocol):
    """A product with weights, plus bias."""

    def __call__(self, values: Tensor, rounded: Rounded | None) -> Tensor:
        """Multiply ``[tokens, inputs]`` to ``[tokens, outputs]``.

        Args:
            values: in the activations' type.
            rounded: the same in 8 bits, where the layer's operands are.
        """


class PlainLinear:
    """A product whose operands have the activations' type.

    Args:
        weight: ``[outputs, inputs]``.
        bias: ``[outputs]``.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight = weight
        self._bias = bias

    def __call__(self, values: Tensor, rounded: Rounded | None) -> Tensor:
        """See :class:`Linear`."""
        del rounded
        return functional.linear(values, self._weight, self._bias)

    def gelu(self, values: Tensor) -> Tensor:
        """Multiply and apply GELU in one pass; on a GPU by tanh, within 5e-4."""
        activated: Tensor = torch._addmm_activation(  # noqa: SLF001 - cuBLASLt's epilogue has no public name
            self._bias, values, self._weight.t(), use_gelu=True
        )
        return activated


class Fp8Linear:
    """A product of E4M3 operands with a scale a token and a scale an output.

    Args:
        weight: ``[outputs, inputs]`` of any float type; both multiples of 16.
        bias: ``[outputs]``.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        rounded = round_rows(weight, torch.float8_e4m3fn)
        self._weight = rounded.values.t()
        self._scales = rounded.scales.t()
        self._bias = bias.to(torch.bfloat16)

    def __call__(self, values: Tensor, rounded: Rounded | None) -> Tensor:
        """See :class:`Linear`."""
        del values
        assert rounded is not None
        return torch._scaled_mm(  # noqa: SLF001 - PyTorch's FP8 product has no public name for scales a row
            rounded.values,
            self._weight,
            scale_a=rounded.scales,
            scale_b=self._scales,
            bias=self._bias,
            out_dtype=torch.bfloat16,
            use_fast_accum=True,
        )


class Int8Linear:
    """A product of int8 operands with a scale a token and a scale an output.

    Args:
        weight: ``[outputs, inputs]`` of any float type; both multiples of 8.
        bias: ``[outputs]``.
        ops: turns the sums into numbers.
    """

    def __init__(self, weight: Tensor, bias: Tensor, ops: Ops) -> None:
        rounded = round_rows(weight, torch.int8)
        self._weight = rounded.values.t()
        self._scales = rounded.scales.flatten()
        self._bias = bias
        self._ops = ops

    def __call__(self, values: Tensor, rounded: Rounded | None) -> Tensor:
        """See :class:`Linear`."""
        del values
        assert rounded is not None
        sums = torch._int_mm(rounded.values, self._weight)  # noqa: SLF001 - PyTorch's int8 product has no public name
        return self._ops.rescale(sums, rounded.scales, self._scales, self._bias)


def make_linear(weight: Tensor, bias: Tensor, precision: Precision, ops: Ops) -> Linear:
    """Make the product of a precision.

    Args:
        weight: ``[outputs, inputs]`` on the device.
        bias: ``[outputs]`` on the device.
        precision: of the operands.
        ops: see :class:`Int8Linear`.
    """
    if precision is Precision.FP8:
        return Fp8Linear(weight, bias)
    if precision is Precision.INT8:
        return Int8Linear(weight, bias.to(precision.dtype), ops)
    return PlainLinear(weight.to(precision.dtype), bias.to(precision.dtype))
