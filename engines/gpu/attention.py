"""Ways to compute attention over packed rows, and what they must agree with."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import itertools
from typing import TYPE_CHECKING, Protocol

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor


class Attention(Protocol):
    """Multi-head self-attention within rows (Vaswani et al., 2017)."""

    def __call__(self, qkv: Tensor, offsets: Tensor, longest: int) -> Tensor:
        """Mix the values.

        Args:
            qkv: queries, keys and values, ``[tokens, 3, heads, width]``; its last axis is contiguous.
            offsets: ``[rows + 1]`` int32: where each row begins; rows at the end may be empty. Tokens after the last
                row belong to none, and get any value.
            longest: no row has more tokens.

        Returns:
            ``[tokens, heads * width]``.
        """


def eager_attention(qkv: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """Compute row by row by the formula, in ``qkv``'s type: the reference."""
    del longest
    tokens, _, heads, width = qkv.shape
    context = torch.zeros((tokens, heads, width), dtype=qkv.dtype, device=qkv.device)
    for begin, end in itertools.pairwise(offsets.tolist()):
        queries, keys, values = qkv[begin:end].unbind(1)
        scores = torch.einsum("qhd,khd->hqk", queries, keys) * width**-0.5
        context[begin:end] = torch.einsum("hqk,khd->qhd", scores.softmax(-1), values)
    return context.view(tokens, heads * width)


def padded_attention(qkv: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """Pad rows for PyTorch's attention and pack them again; runs everywhere."""
    tokens, _, heads, width = qkv.shape
    lengths = offsets.diff()
    places = torch.arange(longest, device=qkv.device)
    known = places < lengths[:, None]
    at = (offsets[:-1, None] + places).clamp(max=tokens - 1)
    queries, keys, values = qkv[at].permute(2, 0, 3, 1, 4)
    # An empty row may look at its filler: a softmax over nothing would be no number.
    seen = (known | (lengths == 0)[:, None])[:, None, None, :]
    mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
    context = torch.zeros((tokens + 1, heads * width), dtype=qkv.dtype, device=qkv.device)
    # Filler goes to a place after the last token.
    context[torch.where(known, at, tokens)] = mixed.transpose(1, 2).reshape(-1, longest, heads * width)
    return context[:tokens]


def varlen_attention(qkv: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """Use PyTorch's flash attention over packed rows (Dao, 2023)."""
    from torch.nn.attention.varlen import varlen_attn  # noqa: PLC0415 - PyTorch has it since 2.10

    queries, keys, values = qkv.unbind(1)
    context = varlen_attn(queries, keys, values, offsets, offsets, longest, longest)
    assert isinstance(context, torch.Tensor)
    return context.flatten(1)


def flash_attention(module: str) -> Attention:
    """Use a flash attention package: ``flash_attn_interface`` is for Hopper."""

    def attend(qkv: Tensor, offsets: Tensor, longest: int) -> Tensor:
        # Here, where it is tried: a package that does not fit this PyTorch cannot be imported.
        compute = importlib.import_module(module).flash_attn_varlen_func
        found = compute(*qkv.unbind(1), offsets, offsets, longest, longest)
        context: Tensor = found[0] if isinstance(found, tuple) else found
        return context.flatten(1)

    return attend


def candidates(device: torch.device) -> Mapping[str, Attention]:
    """Names the ways that may work on a device, those expected to be fastest first."""
    found: dict[str, Attention] = {}
    if device.type == "cuda":
        modules = {"flash-attention-3": "flash_attn_interface", "flash-attention-2": "flash_attn"}
        found |= {name: flash_attention(m) for name, m in modules.items() if importlib.util.find_spec(m)}
        if importlib.util.find_spec("torch.nn.attention.varlen"):
            found["varlen"] = varlen_attention
        if importlib.util.find_spec("triton"):
            from engines.gpu.tiled_attention import tiled_attention  # noqa: PLC0415 - needs the package triton

            found |= {f"tiled-{tile}": functools.partial(tiled_attention, tile=tile) for tile in (64, 128)}
    return {**found, "padded": padded_attention}
