"""Attention over packed rows as one kernel of our own, in the Triton language.

Flash attention (Dao et al., 2022) without backward pass, masks and dropout: a program holds a tile of queries of one
row and head, and goes over that row's keys with a running softmax (Milakov and Gimelshein, 2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from torch import Tensor

_LOG2_E = 1.4426950408889634


def tiled_attention(qkv: Tensor, offsets: Tensor, longest: int, tile: int = 64) -> Tensor:
    """See :class:`engines.gpu.attention.Attention`; heads are powers of 2, ≥ 16.

    Args:
        qkv: as there.
        offsets: as there.
        longest: as there.
        tile: queries, and keys, that are held at a time.
    """
    tokens, _, heads, width = qkv.shape
    context = torch.empty((tokens, heads, width), dtype=qkv.dtype, device=qkv.device)
    grid = (triton.cdiv(longest, tile), heads, len(offsets) - 1)
    _attend[grid](
        qkv, offsets, context, width**-0.5 * _LOG2_E, qkv.stride(0), qkv.stride(1), context.stride(0),
        WIDTH=width, TILE=tile, num_warps=tile // 16, num_stages=2,
    )  # fmt: skip
    return context.view(tokens, heads * width)


@triton.jit
def _attend(
    qkv, offsets, context, scale, token_stride, part_stride, context_stride, WIDTH: tl.constexpr, TILE: tl.constexpr
):
    head, row = tl.program_id(1), tl.program_id(2)
    begin, end = tl.load(offsets + row), tl.load(offsets + row + 1)
    first = begin + tl.program_id(0) * TILE
    if first >= end:
        return
    inner = tl.arange(0, WIDTH)
    asking = first + tl.arange(0, TILE)
    asked = asking[:, None] < end
    place = asking[:, None].to(tl.int64) * token_stride + head * WIDTH + inner[None, :]
    queries = tl.load(qkv + place, mask=asked, other=0.0)
    best = tl.full((TILE,), -float("inf"), tl.float32)
    mass = tl.zeros((TILE,), tl.float32)
    mixed = tl.zeros((TILE, WIDTH), tl.float32)
    for start in range(begin, end, TILE):
        telling = start + tl.arange(0, TILE)
        known = telling < end
        at = telling[:, None].to(tl.int64) * token_stride + head * WIDTH + inner[None, :]
        keys = tl.load(qkv + part_stride + at, mask=known[:, None], other=0.0)
        values = tl.load(qkv + 2 * part_stride + at, mask=known[:, None], other=0.0)
        scores = tl.where(known[None, :], tl.dot(queries, tl.trans(keys)) * scale, -float("inf"))
        higher = tl.maximum(best, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        fading = tl.exp2(best - higher)
        mass = mass * fading + tl.sum(weights, 1)
        mixed = tl.dot(weights.to(values.dtype), values, mixed * fading[:, None])
        best = higher
    target = asking[:, None].to(tl.int64) * context_stride + head * WIDTH + inner[None, :]
    tl.store(context + target, (mixed / mass[:, None]).to(context.dtype.element_ty), mask=asked)
