"""Rewrites operators of a fused BERT graph: bounds them, or says the same in operators that are faster on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    import onnx

GELU_BOUND = 10.0
"""Largest output of a GELU before INT8, after section 5 of Wu et al., 2020 (arXiv:2004.09602)."""

_SKIP, _BIAS = 1, 4


def clip_gelus(model: onnx.ModelProto, bound: float = GELU_BOUND) -> None:
    """Bounds what every GELU returns, in place.

    GELU's negative side ends at -0.17; a few outputs far above the others would coarsen the 8-bit steps of both sides.
    """
    model.graph.initializer.append(numpy_helper.from_array(np.array(bound, np.float32), "gelu_bound"))
    for node in [node for node in model.graph.node if node.op_type in ("BiasGelu", "FastGelu", "Gelu")]:
        bounded, node.output[0] = node.output[0], f"{node.output[0]}_unbounded"
        clip = helper.make_node("Clip", [node.output[0], "", "gelu_bound"], [bounded], name=f"{node.name}_clip")
        _insert_after(model.graph, node, [clip])


def make_lean(model: onnx.ModelProto) -> None:
    """Says the same in the operators that onnxruntime computes fastest on a CPU, in place."""
    vectorize_norms(model)
    approximate_gelus(model)


def approximate_gelus(model: onnx.ModelProto) -> None:
    """Replaces the error function in every GELU by its tanh approximation, in place.

    The two differ by 0.0005 at most (Hendrycks and Gimpel, 2016, section 2), and tanh has the faster kernel.
    """
    for node in model.graph.node:
        if node.op_type == "BiasGelu":
            node.op_type = "FastGelu"


def vectorize_norms(model: onnx.ModelProto) -> None:
    """Expresses every layer normalization after a residual connection as an instance normalization, in place.

    Normalizing each token over its channels is instance normalization with the tokens taken for the channels. For it
    onnxruntime has a vectorized kernel on a CPU, for layer normalization a scalar one that takes four times as long.
    """
    nodes = [node for node in model.graph.node if node.op_type == "SkipLayerNormalization"]
    for number, node in enumerate(nodes):
        _replace(model.graph, node, _instance_norm(node, f"norm_{number}"))


def _instance_norm(node: onnx.NodeProto, prefix: str) -> list[onnx.NodeProto]:
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-12)
    summed, normed, scaled, ones, zeros = (f"{prefix}_{n}" for n in ("sum", "normed", "scaled", "ones", "zeros"))
    made = [helper.make_node("Add", [node.input[0], node.input[_SKIP]], [summed])]
    if len(node.input) > _BIAS:
        made.insert(0, helper.make_node("Add", [node.input[0], node.input[_BIAS]], [f"{prefix}_biased"]))
        made[1].input[0] = f"{prefix}_biased"
    return [
        *made,
        # Layers may differ in their tokens: see modelkit.token_pruning.
        helper.make_node("Shape", [summed], [f"{prefix}_tokens"], start=1, end=2),
        _repeated(1.0, f"{prefix}_tokens", ones),
        _repeated(0.0, f"{prefix}_tokens", zeros),
        helper.make_node("InstanceNormalization", [summed, ones, zeros], [normed], epsilon=epsilon),
        helper.make_node("Mul", [normed, node.input[2]], [scaled]),
        helper.make_node("Add", [scaled, node.input[3]], [node.output[0]]),
    ]


def _repeated(value: float, shape: str, name: str) -> onnx.NodeProto:
    filling = helper.make_tensor("value", TensorProto.FLOAT, [1], [value])
    return helper.make_node("ConstantOfShape", [shape], [name], value=filling)


def _insert_after(graph: onnx.GraphProto, node: onnx.NodeProto, added: list[onnx.NodeProto]) -> None:
    place = list(graph.node).index(node) + 1
    for offset, new in enumerate(added):
        graph.node.insert(place + offset, new)


def _replace(graph: onnx.GraphProto, node: onnx.NodeProto, by: list[onnx.NodeProto]) -> None:
    _insert_after(graph, node, by)
    graph.node.remove(node)
