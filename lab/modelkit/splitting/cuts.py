"""Choice of the layers after which a network is cut."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from modelkit.errors import SplitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from modelkit.splitting.graph import NetworkGraph

_MAX_REPEATED_SHARE, _MAX_REPEATED_BYTES = 0.01, 65_536
"""Weights that two stages may both hold, as those which place tokens: a hundredth of all, or so many bytes."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One part of a network.

    Attributes:
        first: number of its first layer, from 1.
        last: number of its last layer.
        source: tensor that it begins with; "" for the network's inputs.
        target: tensor that it ends with; "" for the network's outputs.
        weight_bytes: size of its weights.
        share: of the weights or of the multiplications, whichever is larger, from 0 to 1.
    """

    first: int
    last: int
    source: str
    target: str
    weight_bytes: int
    share: float


def layer_ends(graph: NetworkGraph) -> tuple[dict[int, str], int]:
    """Find the tensors through which everything flows from one layer to the next.

    Returns:
        The last such tensor after each layer, by the layer's number from 1, and the number of layers.
    """
    ends: dict[int, tuple[int, str]] = {}
    everything = graph.ancestors(graph.outputs)
    most = max(_MAX_REPEATED_BYTES, _MAX_REPEATED_SHARE * graph.weight_bytes(everything))
    layers = (everything & graph.attentions).bit_count()
    for node in graph.nodes:
        for name in set(node.output[:1]) - set(graph.outputs):
            before = graph.ancestors([name])
            layer = (before & graph.attentions).bit_count()
            if not 0 < layer < layers or before.bit_count() < ends.get(layer, (0, ""))[0]:
                continue
            repeated = before & graph.ancestors(graph.outputs, name)
            if not repeated & graph.costly and graph.weight_bytes(repeated) <= most:
                ends[layer] = before.bit_count(), name
    return {layer: name for layer, (_, name) in sorted(ends.items())}, layers


def choose_stages(graph: NetworkGraph, ends: Mapping[int, str], layers: int, count: int) -> list[Stage]:
    """Cut a network so that its largest stage is as small as can be.

    A stage counts by its share of the weights or of the multiplications, whichever is larger: the one is memory, the
    other time.

    Raises:
        SplitError: there are not that many places.
    """
    if not ends:
        raise SplitError(_why_not(graph, layers))
    if count > len(ends) + 1:
        why = "" if len(ends) == layers - 1 else " (the others hand on more than one tensor)"
        most = "2" if len(ends) == 1 else f"from 2 to {len(ends) + 1}"
        raise SplitError(
            f"the network has {layers} layers and can be cut after {_listed(ends)}{why}: choose --stages {most}"
        )
    everything = graph.ancestors(graph.outputs)
    all_bytes, all_products = graph.weight_bytes(everything), max(1, graph.products(everything))

    @cache
    def stage(before: int, layer: int) -> Stage:
        source, target = ends.get(before, ""), ends.get(layer, "")
        nodes = graph.ancestors([target] if target else graph.outputs, source)
        size = graph.weight_bytes(nodes)
        share = max(size / all_bytes, graph.products(nodes) / all_products)
        return Stage(before + 1, layer, source, target, size, share)

    @cache
    def best(before: int, parts: int) -> tuple[float, float, tuple[Stage, ...]]:
        """Largest share, sum of squared shares, and stages of what follows layer ``before``, in so many parts."""
        if parts == 1:
            last = stage(before, layers)
            return last.share, last.share**2, (last,)
        choices = []
        for layer in ends:
            if layer > before and sum(other > layer for other in ends) >= parts - 2:
                first, (largest, squares, others) = stage(before, layer), best(layer, parts - 1)
                choices.append((max(first.share, largest), first.share**2 + squares, (first, *others)))
        return min(choices, key=lambda choice: choice[:2])

    return list(best(0, count)[2])


def _why_not(graph: NetworkGraph, layers: int) -> str:
    cure = "split a network whose layers follow each other, without token pruning"
    if layers < 2:
        return f"the network has {layers} layer{'' if layers == 1 else 's'} of attention, and a stage needs one: {cure}"
    # Of all that is computed before the second attention, the last tensor is the best place there could be.
    first = [n for n in graph.nodes if (graph.ancestors(n.output[:1]) & graph.attentions).bit_count() == 1]
    best = max((node.output[0] for node in first), key=lambda name: graph.ancestors([name]).bit_count(), default="")
    also = next(graph.members(graph.ancestors([best]) & graph.ancestors(graph.outputs, best) & graph.costly), None)
    named = f" ({also.output[0]} is read past {best})" if also else ""
    return f"the network cannot be cut: its layers hand on more than one tensor{named}: {cure}"


def _listed(layers: Mapping[int, str]) -> str:
    """Write numbers as ranges, as in ``layers 1 to 4 and 7``."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][1] + 1:
            runs[-1][1] = layer
        else:
            runs.append([layer, layer])
    texts: Sequence[str] = [f"{first} to {last}" if last > first else str(first) for first, last in runs]
    return f"layer{'s' if len(layers) > 1 else ''} {' and '.join(itertools.islice(texts, 8))}"
