"""Fused kernels of ``ops`` in the Triton language (Tillet et al., 2019).

A program holds one row in registers: it is read once, and written once or, rounded to 8 bits as well, twice. What
plain PyTorch does in four to seven passes over memory is one, and beside the matrix products such passes are what a
layer's time goes into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from engines.bert.gpu.precision import Rounded, largest

if TYPE_CHECKING:
    from torch import Tensor

    from engines.bert.gpu.ops import Norm, Step

_ELEMENTS_A_WARP = 512


class FusedOps:
    """The steps as fused kernels; see :class:`engines.bert.gpu.ops.Ops`."""

    def add_norm(self, values: Tensor, residual: Tensor, norm: Norm, operand: torch.dtype | None) -> Step:
        """See :class:`engines.bert.gpu.ops.Ops`."""
        normed, rounded = torch.empty_like(values), _room(values, operand)
        _add_norm[(len(values),)](
            values, residual, norm.weight, norm.bias, normed, *rounded,
            values.shape[1], norm.epsilon, **_constants(values, operand),
        )  # fmt: skip
        return normed, None if operand is None else rounded

    def gelu(self, values: Tensor, operand: torch.dtype | None) -> Step:
        """See :class:`engines.bert.gpu.ops.Ops`."""
        # Only the product that follows reads the result: rounded, it is all that is written.
        applied, rounded = torch.empty_like(values) if operand is None else values[:0], _room(values, operand)
        _gelu[(len(values),)](values, applied, *rounded, values.shape[1], **_constants(values, operand))
        return applied, None if operand is None else rounded

    def round(self, values: Tensor, operand: torch.dtype) -> Rounded:
        """See :class:`engines.bert.gpu.ops.Ops`."""
        rounded = _room(values, operand)
        _round[(len(values),)](values, *rounded, values.shape[1], **_constants(values, operand))
        return rounded

    def rescale(self, sums: Tensor, rows: Tensor, columns: Tensor, bias: Tensor) -> Tensor:
        """See :class:`engines.bert.gpu.ops.Ops`."""
        scaled = torch.empty(sums.shape, dtype=bias.dtype, device=sums.device)
        _rescale[(len(sums),)](sums, rows, columns, bias, scaled, sums.shape[1], **_launch(sums))
        return scaled


def _room(values: Tensor, operand: torch.dtype | None) -> Rounded:
    """Make room for a result in 8 bits; nothing where none is wanted."""
    if operand is None:
        return Rounded(values[:0], values[:0])
    return Rounded(
        torch.empty(values.shape, dtype=operand, device=values.device),
        torch.empty((len(values), 1), dtype=torch.float32, device=values.device),
    )


def _launch(values: Tensor) -> dict[str, int]:
    block = triton.next_power_of_2(values.shape[1])
    return {"BLOCK": block, "num_warps": min(16, max(1, block // _ELEMENTS_A_WARP))}


def _constants(values: Tensor, operand: torch.dtype | None) -> dict[str, object]:
    rounding = {"LARGEST": 0.0 if operand is None else largest(operand), "TO_INTEGER": operand == torch.int8}
    return {**_launch(values), **rounding}


@triton.jit
def _store_rounded(row, columns, inside, wide, rounded, scales, width, LARGEST: tl.constexpr, TO_INTEGER: tl.constexpr):
    """Write a row in 8 bits with its scale; see ``precision.round_rows``."""
    scale = tl.maximum(tl.max(tl.abs(tl.where(inside, wide, 0.0))), 1e-12) / LARGEST
    scaled = wide * (1.0 / scale)
    if TO_INTEGER:
        scaled = tl.floor(scaled + 0.5)
    tl.store(rounded + row * width + columns, scaled.to(rounded.dtype.element_ty), mask=inside)
    tl.store(scales + row, scale)


@triton.jit
def _add_norm(
    values, residual, weight, bias, normed, rounded, scales, width, epsilon,
    BLOCK: tl.constexpr, LARGEST: tl.constexpr, TO_INTEGER: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    at = row * width + columns
    total = tl.load(values + at, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, total - tl.sum(total) / width, 0.0)
    spread = tl.sqrt(tl.sum(centred * centred) / width + epsilon)
    factor = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    shift = tl.load(bias + columns, mask=inside, other=0.0).to(tl.float32)
    wide = centred / spread * factor + shift
    tl.store(normed + at, wide.to(normed.dtype.element_ty), mask=inside)
    if LARGEST > 0:
        _store_rounded(row, columns, inside, wide, rounded, scales, width, LARGEST, TO_INTEGER)


@triton.jit
def _gelu(
    values, applied, rounded, scales, width, BLOCK: tl.constexpr, LARGEST: tl.constexpr, TO_INTEGER: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    at = row * width + columns
    x = tl.load(values + at, mask=inside, other=0.0).to(tl.float32)
    if LARGEST > 0:
        # GELU by tanh (Hendrycks and Gimpel, 2016), written as a sigmoid: off by 5e-4 at most, which is lost in 8 bits.
        # With `erf` the arithmetic takes longer than the memory.
        wide = x * tl.sigmoid(x * (1.5957691216057308 + 0.07135481282 * x * x))
        _store_rounded(row, columns, inside, wide, rounded, scales, width, LARGEST, TO_INTEGER)
    else:
        wide = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
        tl.store(applied + at, wide.to(applied.dtype.element_ty), mask=inside)


@triton.jit
def _round(values, rounded, scales, width, BLOCK: tl.constexpr, LARGEST: tl.constexpr, TO_INTEGER: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    wide = tl.load(values + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    _store_rounded(row, columns, inside, wide, rounded, scales, width, LARGEST, TO_INTEGER)


@triton.jit
def _rescale(sums, rows, factors, bias, scaled, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    at = row * width + columns
    product = tl.load(sums + at, mask=inside, other=0).to(tl.float32) * tl.load(rows + row)
    product *= tl.load(factors + columns, mask=inside, other=0.0)
    product += tl.load(bias + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(scaled + at, product.to(scaled.dtype.element_ty), mask=inside)
