"""Matrix products and normalization of Moonshine's layers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger(__name__)

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
        """Multiply ``[…, inputs]`` to ``[…, outputs]``."""
        return functional.linear(values, self._weight, self._bias)


class Norm:
    """Layer normalization of the last axis, without a shift."""

    __slots__ = ("_weight",)

    def __init__(self, weight: Tensor, device: torch.device, dtype: torch.dtype) -> None:
        self._weight = weight.to(device, dtype)

    def __call__(self, values: Tensor) -> Tensor:
        """Normalize ``[…, width]``."""
        return functional.layer_norm(values, self._weight.shape, self._weight, None, _EPSILON)


Product = Callable[["Tensor", "Tensor"], "Tensor"]
"""Multiplies ``[rows, inputs]`` by ``[outputs, inputs]`` to float32, whatever the type of the operands."""


def choose_product(device: torch.device, dtype: torch.dtype) -> Product:
    """Return the product for logits, in float32: half precision makes ties.

    A GPU sums in float32 anyway, and PyTorch leaves the sums as they are from 2.8 on.
    """
    if device.type != "cuda" or dtype == torch.float32:
        return _widened_product
    sample = torch.zeros((16, 16), device=device, dtype=dtype)
    try:
        _summed_product(sample, sample)
    except (RuntimeError, TypeError) as error:
        logger.warning("logits are rounded to half precision here, and some texts may differ: %s", error)
        return _rounded_product
    return _summed_product


def _widened_product(values: Tensor, weight: Tensor) -> Tensor:
    return values.float() @ weight.float().t()


def _summed_product(values: Tensor, weight: Tensor) -> Tensor:
    return torch.mm(values, weight.t(), out_dtype=torch.float32)


def _rounded_product(values: Tensor, weight: Tensor) -> Tensor:
    return (values @ weight.t()).float()
