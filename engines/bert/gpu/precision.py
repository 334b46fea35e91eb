"""Number formats that a network can be computed in, and rounding to 8 bits."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import torch

_LEAST = 1e-12
"""Least maximum of a row: one of zeros only has a scale too."""


class Precision(StrEnum):
    """Format of matrix operands; sums, normalization and softmax are float32."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FP8 = "fp8"
    INT8 = "int8"

    @property
    def dtype(self) -> torch.dtype:
        """Type of activations between products; bfloat16 with FP8."""
        return {"float32": torch.float32, "float16": torch.float16, "int8": torch.float16}.get(self, torch.bfloat16)

    @property
    def operand(self) -> torch.dtype | None:
        """Type of 8-bit operands; None where they have the activations' own."""
        return {"fp8": torch.float8_e4m3fn, "int8": torch.int8}.get(self)


class Rounded(NamedTuple):
    """A matrix in 8 bits.

    Attributes:
        values: ``[rows, columns]`` float8_e4m3fn or int8.
        scales: ``[rows, 1]`` float32; a row times its scale is what was rounded.
    """

    values: torch.Tensor
    scales: torch.Tensor


def largest(operand: torch.dtype) -> float:
    """Return an 8-bit type's largest number: 448 of E4M3, 127 of int8."""
    return 127.0 if operand == torch.int8 else float(torch.finfo(operand).max)


def round_rows(values: torch.Tensor, operand: torch.dtype) -> Rounded:
    """Round a matrix to 8 bits, each row by its own largest magnitude.

    A scale a row keeps tokens apart: what one holds changes no other's result.
    """
    wide = values.float()
    scales = wide.abs().amax(dim=-1, keepdim=True).clamp_min(_LEAST) / largest(operand)
    scaled = wide / scales
    return Rounded((scaled.round() if operand == torch.int8 else scaled).to(operand), scales)
