from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from engines.build.quantize import Range, quantize

if TYPE_CHECKING:
    from pathlib import Path

CHANNELS, OUTSTANDING = 32, 5


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A network whose activations have one channel fifty times as large as the others, as those of a BERT do."""
    return write(tmp_path, [helper.make_node("MatMul", ["hidden", "weights"], ["logits"], name="head")])


def write(tmp_path: Path, nodes: list[onnx.NodeProto]) -> Path:
    """Writes a network that computes ``logits`` of ``hidden``."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(100, CHANNELS)).astype(np.float32)
    table[:, OUTSTANDING] *= 50
    weights = rng.normal(size=(CHANNELS, 16)).astype(np.float32)
    weights[OUTSTANDING] /= 50
    biases = rng.normal(size=16).astype(np.float32) * 10
    constants = {"table": table, "weights": weights, "biases": biases, "one": np.array([10], np.float32)}
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["hidden"]),
            *nodes,
        ],
        "network",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["rows", "tokens"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", "tokens", 16])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    path = tmp_path / "source.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def run(path: Path, ids: np.ndarray) -> np.ndarray:
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"input_ids": ids})[0]


def samples() -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    return [{"input_ids": rng.integers(0, 100, (1, 20))} for _ in range(50)]


def test_eight_bits_say_what_float_says(source, tmp_path):
    quantize(source, tmp_path / "int8.onnx", samples())
    ids = np.arange(100)[np.newaxis]
    exact, coarse = run(source, ids), run(tmp_path / "int8.onnx", ids)
    # Left as it is, the outstanding channel would cost ten times as much.
    assert np.abs(coarse - exact).mean() < 0.02 * np.abs(exact).mean()
    assert {node.op_type for node in onnx.load(tmp_path / "int8.onnx").graph.node} >= {"MatMulIntegerToFloat"}


def test_a_row_does_not_depend_on_its_neighbours(source, tmp_path):
    quantize(source, tmp_path / "int8.onnx", samples())
    ids = np.arange(100).reshape(10, 10)
    together = run(tmp_path / "int8.onnx", ids)
    for row in range(10):
        np.testing.assert_array_equal(run(tmp_path / "int8.onnx", ids[row : row + 1])[0], together[row])


PRODUCT = helper.make_node("MatMul", ["hidden", "weights"], ["product"], name="head")
LAST = helper.make_node("Neg", ["biased"], ["logits"])


@pytest.mark.parametrize(
    ("nodes", "additions"),
    [
        ([helper.make_node("Add", ["product", "biases"], ["biased"]), LAST], 0),
        ([helper.make_node("Add", ["biases", "product"], ["biased"]), LAST], 0),
        ([helper.make_node("Add", ["product", "biases"], ["logits"])], 1),
        ([helper.make_node("Add", ["product", "one"], ["biased"]), LAST], 1),
        ([helper.make_node("Add", ["product", "product"], ["biased"]), LAST], 1),
        (
            [
                helper.make_node("Add", ["product", "biases"], ["sum"]),
                helper.make_node("Mul", ["product", "sum"], ["biased"]),
                LAST,
            ],
            1,
        ),
    ],
    ids=["bias", "bias before", "an output", "one for all", "twice itself", "used again"],
)
def test_a_product_adds_its_own_bias(nodes, additions, tmp_path):
    source = write(tmp_path, [PRODUCT, *nodes])
    quantize(source, tmp_path / "int8.onnx", samples())
    kinds = [node.op_type for node in onnx.load(tmp_path / "int8.onnx").graph.node]
    assert (kinds.count("MatMulIntegerToFloat"), kinds.count("Add")) == (1, additions)
    ids = np.arange(100)[np.newaxis]
    exact, coarse = run(source, ids), run(tmp_path / "int8.onnx", ids)
    assert np.abs(coarse - exact).mean() < 0.02 * np.abs(exact).mean()


@pytest.mark.parametrize(
    ("measured", "zero_point"),
    [(Range(-1.0, 3.0), 64), (Range(0.0, 5.0), 0), (Range(-2.0, 0.0), 255), (Range(0.0, 0.0), 0)],
)
def test_zero_is_one_of_the_256_values(measured, zero_point):
    assert measured.zero_point == zero_point
    assert measured.scale > 0
