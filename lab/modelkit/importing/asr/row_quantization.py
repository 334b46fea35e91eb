"""8-bit matrix products whose activations are scaled by row, so that rows do not depend on their batch.

onnxruntime's dynamic quantization scales a whole batch by its common range, and its block-wise weights
(``MatMulNBits``) are slower than float32 on processors without 8-bit dot products (measured on AVX2). Here each frame
is scaled by its own greatest value, and the products are exact integers: the same in any batch, on any processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from engines.build.signed_weights import steps

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnx

_LARGEST = np.float32(127)
_ZERO = 128
_MIN_SCALE = np.float32(1e-8)
_MIN_SIZE = 64 * 64
"""Smaller weights stay in float32: there is nothing to gain."""


def quantize_rows(model: onnx.ModelProto) -> None:
    """Quantize all products with constant weights, in place."""
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    quantized: dict[str, str] = {}
    nodes: list[NodeProto] = []
    for node in graph.node:
        weight = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is None or len(weight.dims) != 2 or np.prod(weight.dims) < _MIN_SIZE:
            nodes.append(node)
            continue
        activation = node.input[0]
        if activation not in quantized:
            quantized[activation] = f"{activation}_row"
            nodes += _activation(activation)
        nodes += _product(node, activation)
        if f"{weight.name}_q" not in weights:
            for tensor in _weight(weight.name, numpy_helper.to_array(weight)):
                weights[tensor.name] = tensor
    used = {name for node in nodes for name in node.input}
    constants = [
        numpy_helper.from_array(np.array(_MIN_SCALE), "row_min"),
        numpy_helper.from_array(np.array(_LARGEST), "row_largest"),
        numpy_helper.from_array(np.array(_ZERO, np.float32), "row_zero"),
        numpy_helper.from_array(np.array(_ZERO, np.uint8), "row_zero_point"),
    ]
    kept = [tensor for tensor in weights.values() if tensor.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend([*kept, *constants])


def _activation(name: str) -> list[NodeProto]:
    """Scale each row to -127 … 127, and store it with 128 added."""
    row = f"{name}_row"
    return [
        helper.make_node("Abs", [name], [f"{row}_abs"]),
        helper.make_node("ReduceMax", [f"{row}_abs"], [f"{row}_max"], axes=[-1], keepdims=1),
        helper.make_node("Max", [f"{row}_max", "row_min"], [f"{row}_bound"]),
        helper.make_node("Div", [f"{row}_bound", "row_largest"], [f"{row}_scale"]),
        helper.make_node("Div", [name, f"{row}_scale"], [f"{row}_divided"]),
        helper.make_node("Round", [f"{row}_divided"], [f"{row}_rounded"]),
        helper.make_node("Add", [f"{row}_rounded", "row_zero"], [f"{row}_shifted"]),
        helper.make_node("Cast", [f"{row}_shifted"], [row], to=TensorProto.UINT8),
    ]


def _product(node: NodeProto, activation: str) -> list[NodeProto]:
    """Multiply in integers, and scale back by row and by column."""
    weight, output, row = node.input[1], node.output[0], f"{activation}_row"
    return [
        helper.make_node("MatMulInteger", [row, f"{weight}_q", "row_zero_point"], [f"{output}_integer"]),
        helper.make_node("Cast", [f"{output}_integer"], [f"{output}_float"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{output}_float", f"{row}_scale"], [f"{output}_by_row"]),
        helper.make_node("Mul", [f"{output}_by_row", f"{weight}_s"], [output]),
    ]


def _weight(name: str, values: npt.NDArray[np.float32]) -> tuple[TensorProto, TensorProto]:
    step = steps(values)
    rounded = np.round(values / step).astype(np.int8)
    return numpy_helper.from_array(rounded, f"{name}_q"), numpy_helper.from_array(step, f"{name}_s")
