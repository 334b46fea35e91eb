"""What the graphs of Moonshine's encoder and decoder have in common.

Operators of the domain ``com.microsoft`` are documented in onnxruntime's ``ContribOperators.md``.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper

from engines.build.moonshine_weights import LAYERS, QuantizedMatrix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

HEADS = 8
HEAD_SIZE = 36
MAX_POSITIONS = 2048
"""Rows of the rotary tables: 2,048 encoder frames are 49 s."""
CONTRIB = "com.microsoft"
ATTENTION_SCALE = HEAD_SIZE**-0.5

BLOCK = 128
"""A power of two, as ``MatMulNBits`` wants it. Smaller ones fill 288 inputs up with less and take longer."""

_EPSILON = 1e-5
_INTEGERS = 4
"""The ``accuracy_level`` of ``MatMulNBits`` that also quantizes what the matrix is multiplied with."""


class GraphBuilder:
    """Collects nodes and initializers; every method returns the name of the value that it adds."""

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._initializers: dict[str, NDArray[np.generic]] = {}
        self._ids = itertools.count()

    def constant(self, value: NDArray[np.generic], name: str | None = None) -> str:
        """Adds an initializer."""
        name = name or f"constant_{next(self._ids)}"
        self._initializers[name] = np.ascontiguousarray(value) if value.ndim else value
        return name

    def floats(self, *values: float) -> str:
        """Adds a float32 scalar, or a vector of several."""
        return self.constant(np.array(values if len(values) > 1 else values[0], np.float32))

    def ints(self, *values: int) -> str:
        """Adds an int64 vector."""
        return self.constant(np.array(values, np.int64))

    def op(
        self,
        kind: str,
        *inputs: str,
        domain: str = "",
        output: str | None = None,
        **attributes: Any,  # noqa: ANN401 - as onnx has it
    ) -> str:
        """Adds a node with one output."""
        output = output or f"{kind}_{next(self._ids)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def ops(
        self,
        kind: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        domain: str = "",
        **attributes: Any,  # noqa: ANN401 - as onnx has it
    ) -> None:
        """Adds a node with several outputs."""
        self._nodes.append(helper.make_node(kind, list(inputs), list(outputs), domain=domain, **attributes))

    def branch(self, build: Callable[[], None], outputs: Sequence[ValueInfoProto]) -> GraphProto:
        """Returns what ``build`` adds as the subgraph of an ``If``; it may use every value and weight outside."""
        outside, self._nodes = self._nodes, []
        build()
        inside, self._nodes = self._nodes, outside
        return helper.make_graph(inside, f"branch_{next(self._ids)}", [], list(outputs))

    def split(self, value: str, parts: int, axis: int = -1) -> list[str]:
        """Splits ``value`` into equal parts."""
        outputs = [f"Split_{next(self._ids)}" for _ in range(parts)]
        self.ops("Split", [value], outputs, axis=axis, num_outputs=parts)
        return outputs

    def layer_norm(self, value: str, weight: NDArray[np.float32]) -> str:
        """Normalizes the last axis; Moonshine's layers have no bias."""
        return self.op("LayerNormalization", value, self.constant(weight), axis=-1, epsilon=_EPSILON)

    def linear(self, value: str, matrix: QuantizedMatrix) -> str:
        """Multiplies with a matrix and adds its bias, all in float32."""
        weight = (matrix.weight.astype(np.float32) - matrix.zero_point) * matrix.scale
        product = self.op("MatMul", value, self.constant(weight))
        return self.biased(product, matrix)

    def biased(self, product: str, matrix: QuantizedMatrix) -> str:
        """Adds the bias of a matrix to a product with it, where it has one."""
        return self.op("Add", product, self.constant(matrix.bias)) if matrix.bias.any() else product

    def quantized_linear(self, value: str, matrix: QuantizedMatrix) -> str:
        """Multiplies approximately: in integers, each row (last axis) quantized by its own largest magnitude."""
        step, middle = self.constant(np.array(1 / 127, np.float32)), self.constant(np.array(128, np.uint8))
        largest = self.op("ReduceMax", self.op("Abs", value), self.ints(-1), keepdims=1)
        largest = self.op("Max", largest, self.floats(1e-12))
        rows = self.op("QuantizeLinear", self.op("Div", value, largest), step, middle)
        weight, scale, zero_point = (self.constant(v) for v in (matrix.weight, matrix.scale, matrix.zero_point))
        product = self.op("MatMulIntegerToFloat", rows, weight, step, scale, middle, zero_point, domain=CONTRIB)
        return self.op("Mul", product, largest)

    def model(self, name: str, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> ModelProto:
        """Returns the checked model."""
        initializers = [numpy_helper.from_array(value, key) for key, value in self._initializers.items()]
        graph = helper.make_graph(self._nodes, name, list(inputs), list(outputs), initializers)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="vivavoce")
        checker.check_model(model)
        return model


class ApproximateGraphBuilder(GraphBuilder):
    """Multiplies with all matrices in integers, as fast as onnxruntime can for few rows: it reads a quarter as much.

    Weights are the published ones; of the values that they are multiplied with, every ``BLOCK`` are quantized together.
    """

    def linear(self, value: str, matrix: QuantizedMatrix) -> str:
        """Multiplies with a matrix approximately and adds its bias."""
        inputs, outputs = matrix.weight.shape
        blocks = -(-inputs // BLOCK)
        # What fills the last block up is 0, once the zero point is taken off.
        weight = np.tile(matrix.zero_point[:, np.newaxis], blocks * BLOCK)
        weight[:, :inputs] = matrix.weight.T
        product = self.op(
            "MatMulNBits", value,
            self.constant(weight.reshape(outputs, blocks, BLOCK)),
            self.constant(np.repeat(matrix.scale, blocks)),
            self.constant(np.repeat(matrix.zero_point, blocks)),
            domain=CONTRIB, K=inputs, N=outputs, bits=8, block_size=BLOCK, accuracy_level=_INTEGERS,
        )  # fmt: skip
        return self.biased(product, matrix)


def rotary_tables(graph: GraphBuilder, inverse_frequencies: NDArray[np.float32]) -> tuple[str, str]:
    """Adds the cosines and sines of rotary position embedding, ``[MAX_POSITIONS, 16]`` each."""
    angles = np.arange(MAX_POSITIONS, dtype=np.float64)[:, None] * inverse_frequencies.reshape(1, -1)
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return graph.constant(cosines, "rotary_cosines"), graph.constant(sines, "rotary_sines")


def cross_attention_values(batch: str = "batch") -> list[ValueInfoProto]:
    """Returns the keys and values of the cross attention, which the encoder hands to the decoder."""
    return [
        helper.make_tensor_value_info(f"cross_{kind}_{layer}", TensorProto.FLOAT, [batch, HEADS, "frames", HEAD_SIZE])
        for layer, kind in itertools.product(range(LAYERS), ("key", "value"))
    ]
