"""Signed 8-bit weights that no product overflows, on whatever processor.

onnxruntime's kernels for processors without 8-bit dot products (AVX2) multiply unsigned 8-bit activations by signed
8-bit weights, and add up the products of two neighbouring inputs in 16 bits, which saturate. Weights of 7 bits are
safe, as ``reduce_range`` makes them. But it is enough that the two weights of a pair together stay within those, and
seldom are the largest ones of a column neighbours of the same sign: so steps can be about 1.6 times as fine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnx

LARGEST = 127
"""Of a weight, and of the sum of a pair before rounding, which may add 1: 255 * 128 is below 2 ** 15."""
_QUANTIZED = "_quantized"


def steps(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Chooses the step between two neighbouring 8-bit values of each output.

    Args:
        weights: ``[inputs, outputs]``.

    Returns:
        ``[outputs]``, above 0.
    """
    even = np.pad(weights, [(0, len(weights) % 2), (0, 0)])
    pairs = even[0::2] + even[1::2]
    greatest = np.maximum(np.abs(weights).max(axis=0), np.abs(pairs).max(axis=0))
    widths: npt.NDArray[np.float32] = np.maximum(greatest / LARGEST, 1e-8).astype(np.float32)
    return widths


def round_weights(quantized: onnx.ModelProto, original: onnx.ModelProto) -> None:
    """Rounds the signed weights of a dynamically quantized model anew, in place.

    Args:
        quantized: as onnxruntime made it of ``original``, with weights per channel.
        original: has the float32 weights.
    """
    exact = _matrices(original.graph)
    initializers = {tensor.name: tensor for tensor in quantized.graph.initializer}
    for name, tensor in initializers.items():
        if tensor.data_type == TensorProto.INT8 and name.endswith(_QUANTIZED):
            source = name.removesuffix(_QUANTIZED)
            step = steps(exact[source])
            rounded = np.round(exact[source] / step).astype(np.int8)
            tensor.CopyFrom(numpy_helper.from_array(rounded, name))
            initializers[f"{source}_scale"].CopyFrom(numpy_helper.from_array(step, f"{source}_scale"))


def _matrices(graph: onnx.GraphProto) -> dict[str, npt.NDArray[np.float32]]:
    """Gives the weights ``[inputs, outputs]`` of all products, by name."""
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    found = {}
    for node in graph.node:
        if node.op_type in ("MatMul", "Attention", "Gemm") and node.input[1] in initializers:
            weights = numpy_helper.to_array(initializers[node.input[1]])
            found[node.input[1]] = weights.T if _transposed(node) else weights
    return found


def _transposed(node: onnx.NodeProto) -> bool:
    return any(a.name == "transB" and helper.get_attribute_value(a) for a in node.attribute)
