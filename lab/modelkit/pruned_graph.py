"""Token pruning in a fused ONNX graph: what :mod:`modelkit.token_pruning` does, in operators of ONNX."""

from __future__ import annotations

from itertools import count, takewhile
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from modelkit.token_pruning import DROPPED, GUESSES, PRIORITY, PROTECTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    import onnx

_MASK = 3
_ATTENTION, _NORM = "Attention", "SkipLayerNormalization"
_PRIORITY, _PLACES = "token_priority", "token_places"
"""``[rows, tokens]``: what orders tokens beside their guess, and where each stands in its row."""


def prune_tokens(
    model: onnx.ModelProto, kept: Sequence[int], guesses: Sequence[npt.NDArray[np.float32]], outputs: Sequence[str]
) -> None:
    """Makes a fused BERT drop tokens, in place.

    Args:
        model: with the inputs ``attention_mask`` and ``token_type_ids``, and in every layer fused attention, whose mask
            is the number of each row's tokens, and two fused normalizations.
        kept: how many tokens go on after the first layer's attention, after the second's, …
        guesses: weights of the guesses of these layers, ``[channels]`` each.
        outputs: names of the outputs that have one value a token.

    Raises:
        RuntimeError: not every normalization of the layers was fused.
    """
    graph = model.graph
    attentions, norms = (len(_nodes(graph, operator)) for operator in (_ATTENTION, _NORM))
    if norms != 2 * attentions:
        raise RuntimeError(f"only {norms} of {2 * attentions} normalizations were fused: see the exporter")
    _start(graph)
    places, priority = _PLACES, _PRIORITY
    for number, (most, weights) in enumerate(zip(kept, guesses, strict=True)):
        stage = _Stage(graph, number)
        places, priority = stage.insert(most, weights, places, priority)
    _put_back(graph, places, outputs)


def read_kept(values: Mapping[str, npt.NDArray[np.generic]]) -> list[int]:
    """Tells how many tokens go on in a graph after the attention of its layers, given its initializers by name."""
    names = takewhile(values.__contains__, map(_kept_name, count()))
    return [int(values[name].item()) for name in names]


def _kept_name(number: int) -> str:
    return f"pruned_{number}_kept"


class _Stage:
    """One place where tokens are dropped: between the attention of a layer and its feed-forward network.

    Args:
        graph: is changed.
        number: of the layer, from 0.
    """

    def __init__(self, graph: onnx.GraphProto, number: int) -> None:
        self._graph, self._number = graph, number
        self._mask = _nodes(graph, _ATTENTION)[number].input[_MASK]
        self._hidden = _nodes(graph, _NORM)[2 * number].output[0]

    def insert(self, most: int, weights: npt.NDArray[np.float32], places: str, priority: str) -> tuple[str, str]:
        """Inserts the nodes; returns the names of the places and priorities of the tokens that are left."""
        own, hidden = self._own, self._hidden
        kept = self._constant(_kept_name(self._number), np.array([most], np.int64))
        channels = self._constant(own("channels"), np.array([2], np.int64))
        weight = self._constant(f"{GUESSES}{self._number}.weight", weights)
        self._insert(
            # Not a product of matrices, which would be brought to 8 bits.
            helper.make_node("Mul", [hidden, weight], [own("weighed")]),
            helper.make_node("ReduceSum", [own("weighed"), channels], [own("guess")], keepdims=0),
            helper.make_node("Add", [own("guess"), priority], [own("order")]),
            helper.make_node("Shape", [own("order")], [own("tokens")], start=1, end=2),
            helper.make_node("Min", [own("tokens"), kept], [own("count")]),
            helper.make_node("TopK", [own("order"), own("count")], [own("best"), own("chosen")], axis=1),
            helper.make_node("GatherElements", [places, own("chosen")], [own("places")], axis=1),
            helper.make_node("GatherElements", [priority, own("chosen")], [own("priority")], axis=1),
            helper.make_node("Unsqueeze", [own("chosen"), channels], [own("index")]),
            helper.make_node("GatherND", [hidden, own("index")], [own("hidden")], batch_dims=1),
            # Padding has the lowest priority, so that what is left of a row still begins with its tokens.
            helper.make_node("Cast", [own("count")], [own("count_int32")], to=TensorProto.INT32),
            helper.make_node("Min", [self._mask, own("count_int32")], [own("mask")]),
        )
        return own("places"), own("priority")

    def _own(self, name: str) -> str:
        return f"pruned_{self._number}_{name}"

    def _constant(self, name: str, value: npt.NDArray[np.generic]) -> str:
        self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def _insert(self, *added: onnx.NodeProto) -> None:
        """Puts nodes behind the one that makes the hidden states; all that came behind it takes what is left."""
        nodes = list(self._graph.node)
        place = next(place for place, node in enumerate(nodes) if self._hidden in node.output) + 1
        left = {self._hidden: self._own("hidden"), self._mask: self._own("mask")}
        for node in nodes[place:]:
            for position, name in enumerate(node.input):
                node.input[position] = left.get(name, name)
        for offset, node in enumerate(added):
            self._graph.node.insert(place + offset, node)


def _nodes(graph: onnx.GraphProto, operator: str) -> list[onnx.NodeProto]:
    return [node for node in graph.node if node.op_type == operator]


def _start(graph: onnx.GraphProto) -> None:
    """Computes places and priorities of all tokens at the beginning of the graph."""
    constants: dict[str, npt.NDArray[np.generic]] = {
        "one": np.array(1, np.float32),
        "zero_int64": np.array(0, np.int64),
        "one_int64": np.array(1, np.int64),
        "protected": np.array(PROTECTED, np.int64),
        "priority": np.array(PRIORITY, np.float32),
    }
    graph.initializer.extend(numpy_helper.from_array(value, f"prune_{name}") for name, value in constants.items())
    nodes = [
        helper.make_node("Shape", ["attention_mask"], ["prune_shape"]),
        helper.make_node("Shape", ["attention_mask"], ["prune_width"], start=1, end=2),
        helper.make_node("Squeeze", ["prune_width"], ["prune_tokens"]),
        helper.make_node("Range", ["prune_zero_int64", "prune_tokens", "prune_one_int64"], ["prune_range"]),
        helper.make_node("Expand", ["prune_range", "prune_shape"], [_PLACES]),
        helper.make_node("Less", [_PLACES, "prune_protected"], ["prune_early"]),
        helper.make_node("Less", ["token_type_ids", "attention_mask"], ["prune_question"]),
        helper.make_node("And", ["prune_early", "prune_question"], ["prune_is_protected"]),
        helper.make_node("Cast", ["prune_is_protected"], ["prune_bonus"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["prune_mask"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["prune_bonus", "prune_mask"], ["prune_rank"]),
        helper.make_node("Sub", ["prune_rank", "prune_one"], ["prune_above"]),
        helper.make_node("Mul", ["prune_above", "prune_priority"], [_PRIORITY]),
    ]
    for place, node in enumerate(nodes):
        graph.node.insert(place, node)


def _put_back(graph: onnx.GraphProto, places: str, outputs: Sequence[str]) -> None:
    """Puts the values of the tokens that are left where these tokens stood."""
    for node in graph.node:
        for position, name in enumerate(node.output):
            if name in outputs:
                node.output[position] = f"{name}_kept"
    nothing = helper.make_tensor("value", TensorProto.FLOAT, [1], [DROPPED])
    graph.node.append(helper.make_node("ConstantOfShape", ["prune_shape"], ["prune_nothing"], value=nothing))
    graph.node.extend(
        helper.make_node("ScatterElements", ["prune_nothing", places, f"{name}_kept"], [name], axis=1)
        for name in outputs
    )
