"""Smaller networks cut out of a trained one: fewer layers, narrower feed-forward networks."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from modelkit.errors import EngineError
from modelkit.optimize.watching import sum_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from modelkit.networks import EncoderNetwork


def keep_layers(network: EncoderNetwork, layers: Sequence[int]) -> EncoderNetwork:
    """Copies a network with some of its encoder's layers, as DistilBERT began (Sanh et al., 2019, section 3).

    Args:
        network: is copied.
        layers: which to keep, counted from 0, ascending.

    Raises:
        EngineError: the network has no such layer.
    """
    student = copy.deepcopy(network)
    stack = student.encoder.encoder
    if not layers or min(layers) < 0 or max(layers) >= len(stack.layer):
        raise EngineError(f"the network has {len(stack.layer)} layers: choose some of them, counted from 0")
    stack.layer = nn.ModuleList(stack.layer[index] for index in layers)
    student.encoder.config.num_hidden_layers = len(layers)
    return student


def spread_layers(count: int, depth: int) -> list[int]:
    """Chooses layers to keep, fewer than ``depth``: at even distances, from the first to the last but one."""
    return [number * (depth - 2) // max(1, count - 1) for number in range(count)]


def imitated_layers(student: int, teacher: int) -> list[int]:
    """Says whose output each layer of a student is to imitate: layers at even distances, the last one by the last."""
    return [round((layer + 1) * teacher / student) - 1 for layer in range(student)]


def keep_neurons(network: EncoderNetwork, width: int, run: Callable[[EncoderNetwork], object]) -> EncoderNetwork:
    """Copies a network with the ``width`` neurons of every feed-forward network that matter most.

    A neuron matters by its mean magnitude times the norm of the weights that it is multiplied by.

    Args:
        network: is copied.
        width: neurons to keep a layer.
        run: runs the network that it is given over a few inputs, on which magnitudes are measured.
    """
    student = copy.deepcopy(network)
    layers: list[Any] = list(student.encoder.encoder.layer)
    outers = [layer.output.dense for layer in layers]
    magnitudes = sum_inputs(outers, lambda rows: rows.abs().sum(dim=0), lambda: run(student))
    for layer, magnitude in zip(layers, magnitudes, strict=True):
        inner, outer = layer.intermediate.dense, layer.output.dense
        kept = (magnitude * outer.weight.detach().norm(dim=0)).topk(width).indices.sort().values
        layer.intermediate.dense = _linear(inner.weight[kept], inner.bias[kept])
        layer.output.dense = _linear(outer.weight[:, kept], outer.bias)
    student.encoder.config.intermediate_size = width
    return student


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)
    return linear
