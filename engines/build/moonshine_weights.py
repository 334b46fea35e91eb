"""Reads the weights of Moonshine tiny out of the ``.ort`` files that its Python package carries.

An ``.ort`` file is a FlatBuffer that holds an already optimized graph. Its initializers have lost their
names (``onnx::MatMul_3202``), but its nodes have kept those of their outputs
(``/layers.0/self_attn/q_proj/MatMul_output_0``), so a weight is found through the node that uses it.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

LAYERS = 6
"""Transformer layers, the same number in the encoder and in the decoder."""

# The position of the bias among the inputs of the two operators that hold a quantized matrix.
_BIAS_INPUT = {"DynamicQuantizeMatMul": 4, "MatMulIntegerToFloat": 6}
_WEIGHT_INPUTS = {"DynamicQuantizeMatMul": (1, 2, 3), "MatMulIntegerToFloat": (1, 3, 5)}
# onnx.TensorProto.DataType, as far as the two files use it.
_DTYPES: Mapping[int, Any] = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_}


Table = Any
"""An object of onnxruntime's FlatBuffers bindings, which carry no types."""


class WeightsError(RuntimeError):
    """A file is not the model this reader was written for."""


@dataclass(frozen=True, slots=True)
class QuantizedMatrix:
    """A matrix with 8 bits an entry: ``value = (weight - zero_point) * scale``.

    Attributes:
        weight: uint8 ``[inputs, outputs]``.
        scale: float32 ``[outputs]``.
        zero_point: uint8 ``[outputs]``.
        bias: float32 ``[outputs]``, zeros where the model has none.
    """

    weight: NDArray[np.uint8]
    scale: NDArray[np.float32]
    zero_point: NDArray[np.uint8]
    bias: NDArray[np.float32]


class OrtWeights:
    """The initializers of one ``.ort`` file, found by the names that its nodes have kept."""

    def __init__(self, path: Path) -> None:
        session = _bindings().InferenceSession.InferenceSession.GetRootAsInferenceSession(path.read_bytes(), 0)
        self._path = path
        self._tensors: dict[str, NDArray[Any]] = {}
        self._quantized_nodes: dict[str, tuple[str, list[str]]] = {}
        for subgraph in _graphs(session.Model().Graph()):
            self._read_graph(subgraph)

    def _read_graph(self, graph: Table) -> None:
        for i in range(graph.InitializersLength()):
            tensor = graph.Initializers(i)
            if (dtype := _DTYPES.get(tensor.DataType())) is not None:
                shape = [tensor.Dims(axis) for axis in range(tensor.DimsLength())]
                raw = tensor.RawDataAsNumpy() if math.prod(shape) else np.zeros(0, np.uint8)
                self._tensors[tensor.Name().decode()] = np.frombuffer(raw.tobytes(), dtype).reshape(shape)
        for i in range(graph.NodesLength()):
            node = graph.Nodes(i)
            operator = node.OpType().decode()
            if operator in _WEIGHT_INPUTS:
                inputs = [node.Inputs(k).decode() for k in range(node.InputsLength())]
                self._quantized_nodes[node.Outputs(0).decode()] = (operator, inputs)

    def tensor(self, name: str) -> NDArray[Any]:
        """Returns the initializer called ``name``.

        Raises:
            WeightsError: there is none.
        """
        try:
            return self._tensors[name]
        except KeyError:
            raise WeightsError(f"{self._path.name} has no tensor {name}: is it another version of the model?") from None

    def matrix(self, output: str) -> QuantizedMatrix:
        """Returns the quantized matrix of the node that computes ``output``.

        Raises:
            WeightsError: no node computes ``output`` from a quantized matrix.
        """
        if output not in self._quantized_nodes:
            raise WeightsError(f"{self._path.name} computes no {output}: is it another version of the model?")
        operator, inputs = self._quantized_nodes[output]
        weight, scale, zero_point = (self.tensor(inputs[i]) for i in _WEIGHT_INPUTS[operator])
        outputs = weight.shape[1]
        bias_input = _BIAS_INPUT[operator]
        bias_name = inputs[bias_input] if len(inputs) > bias_input else ""
        return QuantizedMatrix(
            weight=weight,
            scale=np.broadcast_to(scale, (outputs,)),
            zero_point=np.broadcast_to(zero_point, (outputs,)),
            bias=self.tensor(bias_name) if bias_name else np.zeros(outputs, np.float32),
        )


def _bindings() -> Table:
    """Returns onnxruntime's FlatBuffers bindings, whose package puts itself on ``sys.path`` when it is imported."""
    import onnxruntime.tools.ort_format_model  # noqa: F401, PLC0415
    import ort_flatbuffers_py.fbs  # noqa: PLC0415

    return ort_flatbuffers_py.fbs


def _graphs(graph: Table) -> Iterator[Table]:
    """Yields ``graph`` and the graphs inside its nodes (the two branches of the merged decoder's ``If``)."""
    yield graph
    for i in range(graph.NodesLength()):
        node = graph.Nodes(i)
        for k in range(node.AttributesLength()):
            if (subgraph := node.Attributes(k).G()) is not None:
                yield from _graphs(subgraph)


def join(*matrices: QuantizedMatrix) -> QuantizedMatrix:
    """Joins matrices that are multiplied with the same input into one, side by side."""
    return QuantizedMatrix(
        weight=np.concatenate([m.weight for m in matrices], axis=1),
        scale=np.concatenate([m.scale for m in matrices]),
        zero_point=np.concatenate([m.zero_point for m in matrices]),
        bias=np.concatenate([m.bias for m in matrices]),
    )


def pad_head_outputs(matrix: QuantizedMatrix, heads: int, size: int) -> QuantizedMatrix:
    """Widens every head of a projection to ``size`` outputs; the new outputs are always zero."""
    inputs, outputs = matrix.weight.shape
    old = outputs // heads
    widen = functools.partial(_widen, heads=heads, old=old, new=size)
    zero_point = widen(matrix.zero_point, fill=0)
    # A weight equal to its zero point is an exact zero.
    return QuantizedMatrix(
        weight=widen(matrix.weight, fill=0).reshape(inputs, -1),
        scale=widen(matrix.scale, fill=1),
        zero_point=zero_point,
        bias=widen(matrix.bias, fill=0),
    )


def pad_head_inputs(matrix: QuantizedMatrix, heads: int, size: int) -> QuantizedMatrix:
    """Widens every head that enters a projection to ``size`` inputs; the new inputs have no influence."""
    inputs, outputs = matrix.weight.shape
    old = inputs // heads
    weight = np.broadcast_to(matrix.zero_point, (heads, size, outputs)).copy()
    weight[:, :old] = matrix.weight.reshape(heads, old, outputs)
    return QuantizedMatrix(weight.reshape(heads * size, outputs), matrix.scale, matrix.zero_point, matrix.bias)


def _widen(array: NDArray[Any], fill: float, heads: int, old: int, new: int) -> NDArray[Any]:
    shape = array.shape[:-1]
    wide = np.full((*shape, heads, new), fill, array.dtype)
    wide[..., :old] = array.reshape(*shape, heads, old)
    return wide.reshape(*shape, heads * new)
