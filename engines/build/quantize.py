"""8-bit quantization of an exported BERT: a quarter of the size, and faster.

onnxruntime's dynamic quantization scales the activations of a whole batch by their common range, so that a row's result
depends on its neighbours. Here the ranges are measured once and fixed: a row gets the same result in any batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from engines.build.signed_weights import round_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Feeds: TypeAlias = Mapping[str, npt.NDArray[np.int64]]
"""Inputs of one run of a network, each ``[rows, tokens]``."""

_MICROSOFT = "com.microsoft"
_PERCENTILE = 99
_OUTSTANDING = 2.0


@dataclass(frozen=True, slots=True)
class Range:
    """Range of an activation, with 0, so that padding stays exact."""

    low: float
    high: float

    @property
    def scale(self) -> float:
        """Step between two neighbouring 8-bit values."""
        return max(self.high - self.low, 1e-6) / 255

    @property
    def zero_point(self) -> int:
        """The 8-bit value of 0.0."""
        return round(-self.low / self.scale)


Measure: TypeAlias = Callable[[onnx.ModelProto, Sequence[str], Sequence[Feeds]], dict[str, Range]]
"""Chooses the ranges of the named activations of a float32 model, given inputs of it."""


def measure_ranges(model: onnx.ModelProto, names: Sequence[str], samples: Sequence[Feeds]) -> dict[str, Range]:
    """Choose ranges that one sample in a hundred may exceed."""
    extremes = [[(v.min(), v.max()) for v in values] for values in watch(model, names, samples)]
    lows, highs = np.moveaxis(np.array(extremes, np.float64), 2, 0)
    bounds = zip(
        names,
        np.percentile(lows, 100 - _PERCENTILE, axis=0).tolist(),
        np.percentile(highs, _PERCENTILE, axis=0).tolist(),
        strict=True,
    )
    return {name: Range(min(0.0, low), max(0.0, high)) for name, low, high in bounds}


@dataclass(frozen=True, slots=True)
class Scheme:
    """Settings of quantization; the defaults are those of shipped networks.

    Attributes:
        signed_weights: give weights a sign, as :mod:`engines.build.signed_weights` does: on AVX2 without VNNI,
            onnxruntime's kernels for unsigned weights take a third longer.
        scale_channels: scale channels that stand out down before.
        measure: chooses the ranges of the activations; None leaves them to be found in every batch anew.
    """

    signed_weights: bool = True
    scale_channels: bool = True
    measure: Measure | None = measure_ranges


UNSCALED = Scheme(scale_channels=False)
"""For networks that drop tokens: scaling would take a sixteenth of the time that they have left, and gains nothing."""


def quantize(source: Path, target: Path, samples: Sequence[Feeds], scheme: Scheme | None = None) -> None:
    """Quantize weights per channel, and activations by ranges on ``samples``.

    Args:
        source: a fused float32 model.
        target: is written.
        samples: inputs like those of the model's later life, without padding.
        scheme: None quantizes as networks are shipped.
    """
    scheme = scheme or Scheme()
    model = onnx.load(source)
    if scheme.scale_channels:
        smooth(model, measure_channels(model, samples))
    ranges = None
    if scheme.measure is not None:
        ranges = scheme.measure(model, _quantized(model.graph), samples)
    rounded = _quantize_weights(model, scheme.signed_weights)
    if scheme.signed_weights:
        round_weights(rounded, model)
    if ranges is not None:
        fix_ranges(rounded, ranges)
    onnx.checker.check_model(rounded)
    onnx.save(rounded, target)


def _quantize_weights(model: onnx.ModelProto, signed: bool) -> onnx.ModelProto:
    """Make a dynamically quantized model, with unsigned embeddings."""
    steps = [(["EmbedLayerNormalization"], False), (["MatMul", "Attention"], signed)]
    with TemporaryDirectory() as directory:
        path = Path(directory, "float.onnx")
        onnx.save(model, path)
        for number, (operators, with_sign) in enumerate(steps):
            source, path = path, Path(directory, f"{number}.onnx")
            quantize_dynamic(
                source,
                path,
                op_types_to_quantize=operators,
                per_channel=True,
                weight_type=QuantType.QInt8 if with_sign else QuantType.QUInt8,
                extra_options={"MatMulConstBOnly": True, "DefaultTensorType": TensorProto.FLOAT},
            )
        return onnx.load(path)


def watch(
    model: onnx.ModelProto, names: Sequence[str], samples: Iterable[Feeds]
) -> Iterator[list[npt.NDArray[np.float32]]]:
    """Run a model and yield the values of the named activations for each sample."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    probe.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    session = ort.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    for sample in samples:
        yield session.run(list(names), dict(sample))


def measure_channels(model: onnx.ModelProto, samples: Iterable[Feeds]) -> dict[str, npt.NDArray[np.float32]]:
    """Return the greatest magnitude of every channel multiplied by weights.

    Returns:
        For the name of each such activation ``[channels]``.
    """
    names = sorted({node.input[0] for node in _weighted(model.graph)})
    greatest: dict[str, npt.NDArray[np.float32]] = {}
    for sample in watch(model, names, samples):
        for name, values in zip(names, sample, strict=True):
            seen = np.abs(values).max(axis=(0, 1))
            greatest[name] = np.maximum(greatest.get(name, seen), seen)
    return greatest


def smooth(model: onnx.ModelProto, channels: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Move outlier channels' scale from activations to weights, in place.

    A channel of a BERT may be thirty times as large as the others, which then share a handful of the 256 values
    ("SmoothQuant", Xiao et al., 2023). Only channels beyond twice the median are touched: balancing all of them, as the
    paper does, spoils the weights of these small networks by more than it gains.
    """
    initializers = {initializer.name: initializer for initializer in model.graph.initializer}
    for number, node in enumerate(_weighted(model.graph)):
        greatest = channels[node.input[0]]
        factors = np.maximum(1, greatest / (_OUTSTANDING * np.median(greatest))).astype(np.float32)
        weights = numpy_helper.to_array(initializers[node.input[1]]) * factors[:, np.newaxis]
        scaled, inverse = f"smoothed_{number}", f"smoothing_{number}"
        initializers[node.input[1]].CopyFrom(numpy_helper.from_array(weights, node.input[1]))
        model.graph.initializer.append(numpy_helper.from_array(1 / factors, inverse))
        multiplication = helper.make_node("Mul", [node.input[0], inverse], [scaled], name=f"smooth_{number}")
        model.graph.node.insert(list(model.graph.node).index(node), multiplication)
        node.input[0] = scaled


def _weighted(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """List the nodes that multiply an activation by weights."""
    weights = {initializer.name for initializer in graph.initializer}
    return [node for node in graph.node if node.op_type in ("MatMul", "Attention") and node.input[1] in weights]


def _quantized(graph: onnx.GraphProto) -> list[str]:
    """List the quantized activations; a ``Gemm`` becomes a ``MatMul`` and a sum."""
    gemms = [node for node in graph.node if node.op_type == "Gemm"]
    return sorted({node.input[0] for node in (*_weighted(graph), *gemms)})


def fix_ranges(model: onnx.ModelProto, ranges: Mapping[str, Range]) -> None:
    """Make a dynamically quantized model a statically quantized one, in place."""
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
    if _MICROSOFT not in {opset.domain for opset in model.opset_import}:
        model.opset_import.append(helper.make_opsetid(_MICROSOFT, 1))


def _join_multiplications(graph: onnx.GraphProto) -> None:
    """Fuse integer products with casts and scales to ``MatMulIntegerToFloat``.

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
    _join_biases(graph)


def _join_biases(graph: onnx.GraphProto) -> None:
    """Fuse a lone bias into ``MatMulIntegerToFloat``."""
    users: defaultdict[str, list[onnx.NodeProto]] = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            users[name].append(node)
    shapes = {value.name: list(value.dims) for value in graph.initializer}
    outputs = {output.name for output in graph.output}
    for product in [node for node in graph.node if node.op_type == "MatMulIntegerToFloat"]:
        match users[product.output[0]]:
            case [onnx.NodeProto(op_type="Add") as addition] if addition.output[0] not in outputs:
                bias = next(name for name in addition.input if name != product.output[0])
                if shapes.get(bias) == shapes[product.input[1]][1:]:
                    product.input.append(bias)
                    for user in users[addition.output[0]]:
                        names = [product.output[0] if name == addition.output[0] else name for name in user.input]
                        user.input[:] = names
                    graph.node.remove(addition)
