"""Signed weights: as fine as they can be without an overflow."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from engines.build.signed_weights import LARGEST, steps


def rounded(weights: np.ndarray) -> np.ndarray:
    return np.round(weights / steps(weights)).astype(np.int8)


def multiply(activations: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Multiplies ``[rows, inputs]`` uint8 by ``[inputs, outputs]`` int8 with onnxruntime's kernel."""
    constants = {"weights": weights, "one": np.array(1, np.float32)}
    graph = helper.make_graph(
        [
            helper.make_node(
                "MatMulIntegerToFloat", ["x", "weights", "one", "one"], ["y"], domain="com.microsoft", name="product"
            )
        ],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, ["rows", len(weights)])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", weights.shape[1]])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": activations})[0]


@pytest.mark.parametrize("inputs", [2, 7, 384])
@pytest.mark.parametrize("rows", [1, 6])
def test_products_with_the_greatest_activations_are_exact(inputs, rows):
    rng = np.random.default_rng(inputs)
    weights = rounded(rng.normal(size=(inputs, 40)).astype(np.float32) ** 3)
    activations = rng.choice([0, 254, 255], (rows, inputs)).astype(np.uint8)
    np.testing.assert_array_equal(multiply(activations, weights), activations.astype(int) @ weights.astype(int))


def test_a_single_large_weight_has_all_eight_bits():
    weights = np.array([[1.0], [0.0], [-0.5], [0.5]], np.float32)
    assert rounded(weights).ravel().tolist() == [LARGEST, 0, -64, 64]


def test_a_pair_of_large_weights_shares_them():
    weights = np.array([[1.0], [1.0], [0.5], [-1.0]], np.float32)
    assert rounded(weights).ravel().tolist() == [64, 64, 32, -64]


def test_weights_of_zero_stay_zero():
    assert not rounded(np.zeros((4, 3), np.float32)).any()
