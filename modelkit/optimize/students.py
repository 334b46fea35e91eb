"""Smaller networks cut out of a trained one: fewer layers, narrower feed-forward networks."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from modelkit.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def keep_layers(network: nn.Module, layers: Sequence[int]) -> nn.Module:
    """Copies a network with some of its encoder's layers, as DistilBERT began (Sanh et al., 2019, section 3).

    Args:
        network: with a BERT ``encoder``.
        layers: which to keep, counted from 0, ascending.

    Raises:
        EngineError: the network has no such layer.
    """
    student = copy.deepcopy(network)
    stack = student.encoder.encoder  # type: ignore[union-attr]
    if not layers or min(layers) < 0 or max(layers) >= len(stack.layer):  # type: ignore[arg-type, union-attr]
        raise EngineError(f"the network has {len(stack.layer)} layers: choose some of them, counted from 0")  # type: ignore[arg-type, union-attr]
    stack.layer = nn.ModuleList(stack.layer[index] for index in layers)  # type: ignore[index, union-attr]
    student.encoder.config.num_hidden_layers = len(layers)  # type: ignore[union-attr]
    return student


def imitated_layers(student: int, teacher: int) -> list[int]:
    """Says whose output each layer of a student is to imitate: layers at even distances, the last one by the last."""
    return [round((layer + 1) * teacher / student) - 1 for layer in range(student)]


def keep_neurons(network: nn.Module, width: int, run: Callable[[nn.Module], object]) -> nn.Module:
    """Copies a network with the ``width`` neurons of every feed-forward network that matter most.

    A neuron matters by its mean magnitude times the norm of the weights that it is multiplied by.

    Args:
        network: with a BERT ``encoder``.
        width: neurons to keep a layer.
        run: runs the network that it is given over a few inputs, on which magnitudes are measured.
    """
    student = copy.deepcopy(network)
    magnitudes = _magnitudes(student, run)
    for layer, magnitude in zip(student.encoder.encoder.layer, magnitudes, strict=True):  # type: ignore[union-attr]
        inner, outer = layer.intermediate.dense, layer.output.dense  # type: ignore[union-attr]
        kept = (magnitude * outer.weight.detach().norm(dim=0)).topk(width).indices.sort().values
        layer.intermediate.dense = _linear(inner.weight[kept], inner.bias[kept])  # type: ignore[union-attr]
        layer.output.dense = _linear(outer.weight[:, kept], outer.bias)  # type: ignore[union-attr]
    student.encoder.config.intermediate_size = width  # type: ignore[union-attr]
    return student


def _magnitudes(network: nn.Module, run: Callable[[nn.Module], object]) -> list[Tensor]:
    """Sums the magnitudes of the neurons of every layer, ``[neurons]`` each."""
    layers = list(network.encoder.encoder.layer)  # type: ignore[union-attr]
    sums = [torch.zeros(layer.output.dense.in_features) for layer in layers]

    def watch(total: Tensor) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def add(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            total.add_(inputs[0].abs().flatten(0, -2).sum(dim=0))

        return add

    hooks = [
        layer.output.dense.register_forward_pre_hook(watch(total)) for layer, total in zip(layers, sums, strict=True)
    ]
    with torch.no_grad():
        run(network)
    for hook in hooks:
        hook.remove()
    return sums


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)
    return linear
