"""Choice of the fastest kernels at start that agree with float32."""

from __future__ import annotations

import importlib.util
import logging
from typing import TYPE_CHECKING

import torch

from engines.bert.gpu.encoder import Method
from engines.bert.gpu.ops import Norm, Ops, TorchOps
from engines.bert.gpu.precision import Precision
from engines.gpu.choice import LIMITS, choose_attention, relative_error

if TYPE_CHECKING:
    from engines.bert.gpu.network import NetworkShape

logger = logging.getLogger(__name__)

ROUNDING_LIMIT = 0.05
"""Largest relative error of rounding to 8 bits: E4M3 has 4 bits of precision."""


def choose_method(shape: NetworkShape, precision: Precision, tokens: int, longest: int, device: torch.device) -> Method:
    """Choose how a network is computed.

    Args:
        shape: of the network.
        precision: of its products.
        tokens: of the largest run.
        longest: tokens of a row.
        device: where it will run.
    """
    fused = choose_ops(shape.width, precision, device)
    name, attention = choose_attention(
        shape.heads, shape.width // shape.heads, precision.dtype, tokens, longest, device
    )
    epilogue = device.type == "cuda" and precision in (Precision.FLOAT16, Precision.BFLOAT16)
    logger.info("%s on %s: attention %s, steps %s", precision, device, name, type(fused).__name__)
    return Method(precision, fused, attention, epilogue)


def choose_ops(width: int, precision: Precision, device: torch.device) -> Ops:
    """Take the fused kernels where they compile and are right, else PyTorch."""
    plain = TorchOps()
    if device.type != "cuda" or not importlib.util.find_spec("triton"):
        return plain
    from engines.bert.gpu.kernels import FusedOps  # noqa: PLC0415 - needs the package triton

    fused = FusedOps()
    values, residual = torch.randn(2, 64, width, device=device).to(precision.dtype)
    norm = Norm(torch.rand(width, device=device), torch.randn(width, device=device), 1e-12)
    try:
        pairs = [
            (fused.add_norm(values, residual, norm, None)[0], plain.add_norm(values, residual, norm, None)[0]),
            (fused.gelu(values, None)[0], plain.gelu(values, None)[0]),
        ]
        if precision.operand is not None:
            for rounded, expected in (
                (fused.round(values, precision.operand), values),
                (fused.gelu(values, precision.operand)[1], plain.gelu(values, None)[0]),
            ):
                assert rounded is not None
                pairs.append((rounded.values.float() * rounded.scales, expected))
    except Exception as error:  # noqa: BLE001 - whatever the compiler says, plain PyTorch computes the same
        logger.warning("the fused kernels cannot be used here, and inference is slower: %s", error)
        return plain
    limits = [LIMITS[precision.dtype]] * 2 + [ROUNDING_LIMIT] * 2
    for (got, expected), limit in zip(pairs, limits, strict=False):
        if (off := relative_error(got, expected)) > limit:
            logger.warning("the fused kernels are off by %.2g here and are not used: inference is slower", off)
            return plain
    return fused
