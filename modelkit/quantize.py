"""Compresses an exported BERT to 8 bits: weights and embeddings by a quarter of their size, and faster arithmetic.

onnxruntime's dynamic quantization scales the activations of a whole batch by their common range, so that a row's result
depends on its neighbours. Here the ranges are measured once and fixed: a row gets the same result in any batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

_MICROSOFT = "com.microsoft"


@dataclass(frozen=True, slots=True)
class Range:
    """Values that an activation took; 0 is always among them, so that padding and zeros stay exact."""

    low: float
    high: float

    def union(self, other: Range) -> Range:
        """Returns the smallest range that holds both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    @property
    def scale(self) -> float:
        """Step between two neighbouring 8-bit values."""
        return max(self.high - self.low, 1e-6) / 255

    @property
    def zero_point(self) -> int:
        """The 8-bit value of 0.0."""
        return round(-self.low / self.scale)


def quantize(source: Path, target: Path, samples: Iterable[Mapping[str, npt.NDArray[np.int64]]]) -> None:
    """Quantizes all weights, per channel, and fixes the activations' ranges to those seen on ``samples``.

    Weights have 7 bits, one less than they could: on processors with AVX2 but without VNNI, two products of 8 bits
    overflow the 16 bits in which they are added.

    Args:
        source: a fused float32 model.
        target: is written.
        samples: inputs like those of the model's later life.
    """
    with TemporaryDirectory() as directory:
        dynamic = Path(directory, "dynamic.onnx")
        quantize_dynamic(
            source,
            dynamic,
            op_types_to_quantize=["MatMul", "Attention", "EmbedLayerNormalization"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True, "DefaultTensorType": TensorProto.FLOAT},
        )
        model = onnx.load(dynamic)
    fix_ranges(model, measure_ranges(model, samples))
    onnx.checker.check_model(model)
    onnx.save(model, target)


def measure_ranges(model: onnx.ModelProto, samples: Iterable[Mapping[str, npt.NDArray[np.int64]]]) -> dict[str, Range]:
    """Runs a dynamically quantized model and returns the range of every activation that it quantizes, by name."""
    nodes = [node for node in model.graph.node if node.op_type == "DynamicQuantizeLinear"]
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    for node in nodes:
        probe.graph.output.append(helper.make_tensor_value_info(node.output[1], TensorProto.FLOAT, []))
        probe.graph.output.append(helper.make_tensor_value_info(node.output[2], TensorProto.UINT8, []))
    session = ort.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [name for node in nodes for name in node.output[1:]]
    ranges: dict[str, Range] = {}
    for sample in samples:
        values = session.run(names, dict(sample))
        for node, scale, zero_point in zip(nodes, values[::2], values[1::2], strict=True):
            seen = Range(-float(zero_point) * float(scale), (255 - float(zero_point)) * float(scale))
            ranges[node.input[0]] = ranges.get(node.input[0], seen).union(seen)
    return ranges


def fix_ranges(model: onnx.ModelProto, ranges: Mapping[str, Range]) -> None:
    """Makes a dynamically quantized model a statically quantized one, in place."""
    constants: dict[str, npt.NDArray[np.generic]] = {}
    for node in model.graph.node:
        if node.op_type == "DynamicQuantizeLinear":
            measured = ranges[node.input[0]]
            constants[node.output[1]] = np.array(measured.scale, np.float32)
            constants[node.output[2]] = np.array(measured.zero_point, np.uint8)
            node.op_type = "QuantizeLinear"
            node.input.extend(node.output[1:])
            del node.output[1:]
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    _join_multiplications(model.graph)


def _join_multiplications(graph: onnx.GraphProto) -> None:
    """Puts one ``MatMulIntegerToFloat`` for each integer product with its cast and its two scalings.

    onnxruntime does this by itself only for dynamic ranges.
    """
    makers = {output: node for node in graph.node for output in node.output}
    users = {name: node for node in graph.node for name in node.input}
    replaced: list[onnx.NodeProto] = []
    for node in list(graph.node):
        if node.op_type != "MatMulInteger":
            continue
        cast = users[node.output[0]]
        scaling = users[cast.output[0]]
        scales = makers[next(name for name in scaling.input if name != cast.output[0])]
        inputs = [*node.input[:2], *scales.input, *node.input[2:]]
        joined = helper.make_node("MatMulIntegerToFloat", inputs, scaling.output, node.name, domain=_MICROSOFT)
        graph.node.insert(list(graph.node).index(node), joined)
        replaced += [node, cast, scaling, scales]
    for node in replaced:
        graph.node.remove(node)
