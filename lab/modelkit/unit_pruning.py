"""Unit pruning: the heads and neurons that a network's results miss least are cut, and stay cut in training.

A unit, a head of attention or a neuron of a feed-forward network, is cut by making the weights zero that read it. The
network keeps its shape, so that whatever takes the uncut one takes it too; graphs that are served leave idle units out
(:mod:`modelkit.narrowed_graph`).

That heads can be spared was found by Michel et al., 2019 ("Are Sixteen Heads Really Better than One?"). How much a unit
is missed is told by the diagonal of the Fisher information of a factor at its output, after section 4 of Kwon et al.,
2022 ("A Fast Post-Training Pruning Framework for Transformers"). What is missed least for its arithmetic goes first.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from modelkit.errors import TrainingError
from modelkit.networks import BERT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor, nn

    from modelkit.networks import EncoderNetwork

GROUP = 32
"""Neurons that are cut together: products gain by whole vectors only."""
WINDOW = 256
"""Tokens of the rows whose arithmetic is counted."""
_ATTENTION_COST = 5
"""Time of a multiplication between tokens, softmax included, by that of one with 8-bit weights.

Measured with onnxruntime on AVX2: 80 and 17 picoseconds.
"""


@dataclass(frozen=True, slots=True)
class _Site:
    """Where units are, in a layer.

    Attributes:
        reader: what their outputs are multiplied by.
        count: units, which have as many of the reader's inputs each.
        together: units that are cut together.
        cost: multiplications of one unit for a row.
    """

    reader: nn.Linear
    count: int
    together: int
    cost: int


def measure_importance(network: EncoderNetwork, losses: Iterable[Tensor]) -> list[Tensor]:
    """Measures how much a network's loss misses each unit.

    Args:
        network: a BERT.
        losses: scalars, one a row of the data; the network has to run when they are asked for, not before.

    Returns:
        For the heads of the first layer, its neurons, the heads of the second, …: ``[units]`` float32, the squared
        derivatives by a factor at each unit's output, summed over the rows.

    Raises:
        TrainingError: it is no BERT.
    """
    sites = _sites(network, ())
    factors = [torch.ones(site.count, device=site.reader.weight.device, requires_grad=True) for site in sites]
    sums = [torch.zeros_like(factor) for factor in factors]
    with ExitStack() as hooks:
        for site, factor in zip(sites, factors, strict=True):
            hooks.enter_context(site.reader.register_forward_pre_hook(partial(_multiply, factor)))
        for loss in losses:
            for total, derivative in zip(sums, torch.autograd.grad(loss, factors), strict=True):
                total.add_(derivative.square())
    return sums


@torch.no_grad()
def cut_units(network: EncoderNetwork, importance: Sequence[Tensor], share: float, kept: Sequence[int] = ()) -> None:
    """Cuts the units that are missed least for the arithmetic that they take, in place.

    Every layer keeps a head and a group of neurons. What was cut before counts as well, and stays cut.

    Args:
        network: a BERT.
        importance: of its units, as :func:`measure_importance` gives it.
        share: of the layers' arithmetic that goes, 0 to 1.
        kept: tokens that go on after the attention of the first layers; after the others, as many as before.

    Raises:
        TrainingError: it is no BERT.
    """
    sites = _sites(network, kept)
    to_cut = share * sum(site.cost * site.count for site in sites)
    candidates: list[tuple[float, int, _Site, Tensor]] = []
    for number, (site, missed) in enumerate(zip(sites, importance, strict=True)):
        ascending = missed.argsort()
        groups = [ascending[first : first + site.together] for first in range(0, site.count, site.together)]
        candidates += [(float(missed[group].mean()) / site.cost, number, site, group) for group in groups[:-1]]
    for _, _, site, group in sorted(candidates, key=lambda candidate: candidate[:2]):
        if to_cut <= 0:
            break
        site.reader.weight.view(-1, site.count, site.reader.in_features // site.count)[:, group] = 0
        to_cut -= site.cost * len(group)


def hold_cut_units(network: EncoderNetwork) -> None:
    """Has training leave cut units as they are: weights that are zero for all outputs get no gradient.

    Optimizers and their decay leave a zero without a gradient as it is. Networks of other architectures have no cut
    units, and are left alone.
    """
    if network.encoder.config.model_type != BERT:
        return
    for site in _sites(network, ()):
        weight: Any = site.reader.weight  # Its register_hook is not typed.
        weight.register_hook(partial(_without_cut_units, weight))


def _without_cut_units(weight: Tensor, gradient: Tensor) -> Tensor:
    return gradient * weight.detach().any(dim=0)


def _sites(network: EncoderNetwork, kept: Sequence[int]) -> list[_Site]:
    config = network.encoder.config
    if config.model_type != BERT:
        raise TrainingError(f"of a {config.model_type} no heads and neurons can be cut: take a BERT")
    layers: list[Any] = list(network.encoder.encoder.layer)
    sites = []
    tokens = WINDOW
    for number, layer in enumerate(layers):
        attention, feed_forward = layer.attention.output.dense, layer.output.dense
        size = attention.in_features // config.num_attention_heads
        # Queries, keys, values and the reader; then scores and what they weigh.
        head = tokens * size * (4 * config.hidden_size + 2 * tokens * _ATTENTION_COST)
        tokens = kept[number] if number < len(kept) else tokens
        sites.append(_Site(attention, config.num_attention_heads, 1, head))
        sites.append(_Site(feed_forward, feed_forward.in_features, GROUP, 2 * tokens * config.hidden_size))
    return sites


def _multiply(factor: Tensor, _: nn.Module, inputs: tuple[Tensor]) -> Tensor:
    (outputs,) = inputs
    return outputs * factor.repeat_interleave(outputs.shape[-1] // len(factor))
