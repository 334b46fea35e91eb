"""Fused ONNX graphs without the heads and neurons that do nothing (:mod:`modelkit.unit_pruning` makes such)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from onnx import numpy_helper

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnx

_HEADS = "num_heads"
_SHARES = 3
"""Queries, keys and values, which fused attention multiplies by one matrix."""


def drop_idle_units(model: onnx.ModelProto) -> None:
    """Leaves out what is only multiplied by zeros, in place: the graph computes the same with fewer products.

    A head is idle, or a neuron of a feed-forward network, where the weights that read it are all zero. Each layer keeps
    one of a kind at least. Weights that several products share stay as they are.

    Args:
        model: a fused float32 BERT.
    """
    weights = _Weights(model.graph)
    makers = {output: node for node in model.graph.node for output in node.output}
    for product in model.graph.node:
        if product.op_type == "MatMul" and weights.owned(product.input[1]):
            source = makers.get(product.input[0])
            if source is not None and source.op_type == "Attention":
                _narrow_attention(source, product, weights)
            elif source is not None and source.op_type == "BiasGelu":
                _narrow_feed_forward(makers[source.input[0]], source, product, weights)


class _Weights:
    """The initializers of a graph, by their names."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._values = {value.name: value for value in graph.initializer}
        self._uses = Counter(name for node in graph.node for name in node.input)

    def owned(self, *names: str) -> bool:
        """Tells whether all of these are weights that one node alone uses."""
        return all(name in self._values and self._uses[name] == 1 for name in names)

    def __getitem__(self, name: str) -> npt.NDArray[np.float32]:
        return numpy_helper.to_array(self._values[name])

    def __setitem__(self, name: str, value: npt.NDArray[np.float32]) -> None:
        self._values[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(value), name))


def _narrow_attention(attention: onnx.NodeProto, product: onnx.NodeProto, weights: _Weights) -> None:
    """Takes idle heads out of fused attention and out of the product behind it."""
    matrix, bias, reader = attention.input[1], attention.input[2], product.input[1]
    count = next(attribute for attribute in attention.attribute if attribute.name == _HEADS)
    heads = int(count.i)
    read = weights[reader]
    kept = _busy(read.reshape(heads, -1))
    if len(kept) == heads or not weights.owned(matrix, bias):
        return
    inputs = len(weights[matrix])
    weights[matrix] = weights[matrix].reshape(inputs, _SHARES, heads, -1)[:, :, kept].reshape(inputs, -1)
    weights[bias] = weights[bias].reshape(_SHARES, heads, -1)[:, kept].reshape(-1)
    weights[reader] = read.reshape(heads, -1, read.shape[1])[kept].reshape(-1, read.shape[1])
    count.i = len(kept)


def _narrow_feed_forward(
    inner: onnx.NodeProto, gelu: onnx.NodeProto, product: onnx.NodeProto, weights: _Weights
) -> None:
    """Takes idle neurons out of the products on both sides of a GELU."""
    matrix, bias, reader = inner.input[1], gelu.input[1], product.input[1]
    kept = _busy(weights[reader])
    if len(kept) == len(weights[reader]) or not weights.owned(matrix, bias):
        return
    weights[matrix] = weights[matrix][:, kept]
    weights[bias] = weights[bias][kept]
    weights[reader] = weights[reader][kept]


def _busy(read: npt.NDArray[np.float32]) -> npt.NDArray[np.intp]:
    """Finds units ``[units, weights]`` that some weight reads; of idle ones alone, the first."""
    found = np.flatnonzero(read.any(axis=1))
    return found if len(found) else np.zeros(1, np.intp)
