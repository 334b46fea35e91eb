"""BERT's encoder over packed rows (Devlin et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional

from engines.bert.gpu.linear import Linear, PlainLinear, make_linear
from engines.bert.gpu.network import layer_prefix
from engines.bert.gpu.ops import Norm

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from engines.bert.gpu.network import NetworkShape, State
    from engines.bert.gpu.ops import Ops, Step
    from engines.bert.gpu.precision import Precision
    from engines.gpu.attention import Attention


class Batch(NamedTuple):
    """Inputs of an encoder, on its device.

    Attributes:
        ids: of the vocabulary, ``[tokens]`` int32; those after the last row are filler.
        places: position times kinds of token, plus the token's kind, likewise.
        offsets: ``[rows + 1]`` int32: where each row begins; rows at the end may be empty.
        longest: no row has more tokens.
        hidden: what the stage before gave, ``[tokens, width]`` float32; None for a network that begins with tokens.
    """

    ids: Tensor
    places: Tensor
    offsets: Tensor
    longest: int
    hidden: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """Settings of an encoder.

    Attributes:
        precision: of the products.
        ops: the steps between them.
        attention: over packed rows.
        epilogue: whether GELU is left to the product before it, where that is not in 8 bits.
    """

    precision: Precision
    ops: Ops
    attention: Attention
    epilogue: bool = False


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: Linear
    mix: Linear
    up: Linear
    down: Linear
    after_attention: Norm
    after_feed_forward: Norm


class Encoder:
    """Twelve layers, or how many there are; those of a stage without the others.

    Args:
        shape: dimensions.
        state: tensors by name, of any float type.
        method: how it is computed.
        device: where.
    """

    def __init__(self, shape: NetworkShape, state: State, method: Method, device: torch.device) -> None:
        def get(name: str) -> Tensor:
            return state[name].to(device, torch.float32)

        self._heads = shape.heads
        self._method = method
        self._dtype = method.precision.dtype
        self._operand = method.precision.operand
        if shape.embeds:
            embeddings = "encoder.embeddings"
            self._words = get(f"{embeddings}.word_embeddings.weight").to(self._dtype)
            positions, kinds = (get(f"{embeddings}.{name}_embeddings.weight") for name in ("position", "token_type"))
            # One table instead of two: a position and a kind of token are looked up together.
            self._places = (positions[:, None] + kinds[None]).flatten(0, 1).to(self._dtype)
            self._embedded = _norm(get, f"{embeddings}.LayerNorm", shape.epsilon)
        self._layers = [_layer(get, number, method, shape.epsilon) for number in shape.numbers]

    def __call__(self, batch: Batch) -> Tensor:
        """Return the last layer's vectors, ``[tokens, width]``."""
        ops, operand = self._method.ops, self._operand
        hidden, rounded = self._begun(batch)
        for layer in self._layers:
            qkv = layer.qkv(hidden, rounded).view(len(hidden), 3, self._heads, -1)
            context = self._method.attention(qkv, batch.offsets, batch.longest)
            mixed = layer.mix(context, None if operand is None else ops.round(context, operand))
            hidden, rounded = ops.add_norm(mixed, hidden, layer.after_attention, operand)
            if self._method.epilogue and isinstance(layer.up, PlainLinear):
                inner, rounded = layer.up.gelu(hidden), None
            else:
                inner, rounded = ops.gelu(layer.up(hidden, rounded), operand)
            hidden, rounded = ops.add_norm(layer.down(inner, rounded), hidden, layer.after_feed_forward, operand)
        return hidden

    def _begun(self, batch: Batch) -> Step:
        """Embed the tokens, or take what the stage before gave."""
        ops, operand = self._method.ops, self._operand
        if batch.hidden is not None:
            hidden = batch.hidden.to(self._dtype)
            return hidden, None if operand is None else ops.round(hidden, operand)
        words, places = functional.embedding(batch.ids, self._words), functional.embedding(batch.places, self._places)
        return ops.add_norm(words, places, self._embedded, operand)


def _layer(get: Callable[[str], Tensor], number: int, method: Method, epsilon: float) -> _Layer:
    prefix = layer_prefix(number)

    def linear(*names: str) -> Linear:
        """Several products of the same vectors are one, whose outputs stand side by side."""
        weight, bias = (torch.cat([get(f"{prefix}.{name}.{part}") for name in names]) for part in ("weight", "bias"))
        return make_linear(weight, bias, method.precision, method.ops)

    return _Layer(
        linear("attention.self.query", "attention.self.key", "attention.self.value"),
        linear("attention.output.dense"),
        linear("intermediate.dense"),
        linear("output.dense"),
        _norm(get, f"{prefix}.attention.output.LayerNorm", epsilon),
        _norm(get, f"{prefix}.output.LayerNorm", epsilon),
    )


def _norm(get: Callable[[str], Tensor], name: str, epsilon: float) -> Norm:
    return Norm(get(f"{name}.weight"), get(f"{name}.bias"), epsilon)
