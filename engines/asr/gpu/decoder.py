"""Moonshine's decoder with a static cache, for CUDA graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional

from engines.asr.gpu.encoder import CROSS_SIZE, MAX_POSITIONS
from engines.asr.gpu.linear import Linear, Norm, choose_product
from engines.asr.gpu.names import HEAD_SIZE, HEADS, LAYERS
from engines.asr.gpu.weights import joined, rotary_tables, turned, widen_inputs, widen_outputs

if TYPE_CHECKING:
    from torch import Tensor

    from engines.asr.gpu.weights import Weights

_SCALE = HEAD_SIZE**-0.5
_CHUNK = 512
"""Tokens whose logits are held at a time: 67 MB."""


class Memory(NamedTuple):
    """Encoded audio and lengths of a batch's rows.

    Attributes:
        keys: of the tokens so far, ``[6, rows, 8, capacity, 40]``.
        values: likewise.
        cross: keys and values of the encoder in turn, ``[12, rows, 8, frames, 40]``.
        heard: bool ``[rows, 1, 1, frames]``; which frames are of the row's recording.
    """

    keys: Tensor
    values: Tensor
    cross: Tensor
    heard: Tensor


class Decoder:
    """Tokens to what follows them.

    Args:
        weights: of Moonshine.
        device: where it is computed.
        dtype: of the products; logits are float32.
    """

    def __init__(self, weights: Weights, device: torch.device, dtype: torch.dtype) -> None:
        self._embeddings = weights.dense("decoder.logits")[0].to(device, dtype)
        self._product = choose_product(device, dtype)
        tables = rotary_tables(weights.tensor("decoder.inverse_frequencies"), MAX_POSITIONS, CROSS_SIZE)
        self._cosines, self._sines = (table.to(device, dtype) for table in tables)
        self._layers = [_Layer(weights, number, device, dtype) for number in range(LAYERS)]
        self._norm = Norm(weights.tensor("decoder.norm"), device, dtype)

    @property
    def vocabulary(self) -> int:
        """Size of the vocabulary."""
        return len(self._embeddings)

    def __call__(self, tokens: Tensor, starts: Tensor, memory: Memory, queries: list[Tensor] | None = None) -> Tensor:
        """Run tokens of every row, and keep their keys and values.

        Args:
            tokens: int64 ``[rows, steps]``.
            starts: int64 ``[rows]``; position of the first of them. What was kept there or later is overwritten.
            memory: of the rows.
            queries: gets what each layer's cross attention looks for, ``[rows, steps, 8, 40]``.

        Returns:
            ``[rows, steps, 288]``, of which :meth:`logits` makes logits.
        """
        positions = starts[:, None] + torch.arange(tokens.shape[1], device=tokens.device)
        cosines, sines = (table[positions][:, :, None, None] for table in (self._cosines, self._sines))
        seen = torch.arange(memory.keys.shape[3], device=tokens.device) <= positions[:, None, :, None]
        places = positions[:, None, :, None].expand(-1, HEADS, -1, CROSS_SIZE)
        hidden = functional.embedding(tokens, self._embeddings)
        for number, layer in enumerate(self._layers):
            query, key, value = layer.project(hidden, cosines, sines)
            keys, values = memory.keys[number], memory.values[number]
            keys.scatter_(2, places, key)
            values.scatter_(2, places, value)
            hidden = hidden + layer.output(_heads_joined(_attend(query, keys, values, seen)))
            query = layer.cross_query(hidden)
            if queries is not None:
                queries.append(query)
            mixed = _attend(query.transpose(1, 2), memory.cross[2 * number], memory.cross[2 * number + 1], memory.heard)
            hidden = layer.feed(hidden + layer.cross_output(_heads_joined(mixed)))
        return self._norm(hidden)

    def logits(self, hidden: Tensor) -> Tensor:
        """Return logits after each of ``hidden``, ``[rows, 288]``, float32."""
        return self._product(hidden, self._embeddings)

    def most_probable(self, hidden: Tensor) -> Tensor:
        """Return the most probable tokens after ``hidden``, int64 ``[rows, steps]``."""
        parts = [self.logits(part).argmax(1) for part in torch.split(hidden.flatten(0, 1), _CHUNK)]
        return torch.cat(parts).view(hidden.shape[:2])


class _Layer:
    """One layer: self-attention, cross-attention and feed-forward network."""

    def __init__(self, weights: Weights, number: int, device: torch.device, dtype: torch.dtype) -> None:
        name = f"decoder.layers.{number}"

        def wide(part: str) -> Linear:
            return Linear(widen_inputs(weights.dense(f"{name}.{part}"), CROSS_SIZE), device, dtype)

        query, key, value = (widen_outputs(weights.dense(f"{name}.{part}"), CROSS_SIZE) for part in "qkv")
        projections = joined(query, key, value, *(turned(part, CROSS_SIZE) for part in (query, key)))
        self._projections = Linear(projections, device, dtype)
        self.output, self.cross_output = wide("o"), wide("cross_o")
        self._cross_query = Linear(widen_outputs(weights.dense(f"{name}.cross_q"), CROSS_SIZE), device, dtype)
        self._up, self._down = (Linear(weights.dense(f"{name}.{part}"), device, dtype) for part in ("fc1", "fc2"))
        self._attention_norm, self._cross_norm, self._inner_norm = (
            Norm(weights.tensor(f"{name}.{part}_norm"), device, dtype) for part in ("attention", "cross", "inner")
        )

    def project(self, hidden: Tensor, cosines: Tensor, sines: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return rotated queries and keys, and values, ``[rows, 8, steps, 40]`` each."""
        parts = self._projections(self._attention_norm(hidden)).view(*hidden.shape[:2], 5, HEADS, CROSS_SIZE)
        rotated = parts[:, :, :2] * cosines + parts[:, :, 3:] * sines
        query, key = rotated.transpose(1, 3).unbind(2)
        return query, key, parts[:, :, 2].transpose(1, 2)

    def cross_query(self, hidden: Tensor) -> Tensor:
        """Return what the cross attention looks for, ``[rows, steps, 8, 40]``."""
        return self._cross_query(self._cross_norm(hidden)).view(*hidden.shape[:2], HEADS, CROSS_SIZE)

    def feed(self, hidden: Tensor) -> Tensor:
        """Add the feed-forward network with SwiGLU (Shazeer, 2020)."""
        value, gate = self._up(self._inner_norm(hidden)).chunk(2, -1)
        return hidden + self._down(functional.silu(gate) * value)


def _attend(query: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
    mask = seen.expand(-1, -1, query.shape[2], -1)
    return functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=_SCALE)


def _heads_joined(mixed: Tensor) -> Tensor:
    """Turn ``[rows, 8, steps, 40]`` into ``[rows, steps, 320]``."""
    return mixed.transpose(1, 2).flatten(2)
