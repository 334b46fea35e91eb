"""The form in which networks are shipped, made of a small one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from modelkit.compress import compress

if TYPE_CHECKING:
    from pathlib import Path

CHANNELS, NEURONS = 32, 64


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A feed-forward network with its residual connection and normalization, as fusing leaves them."""
    rng = np.random.default_rng(0)
    shapes = {"table": (100, CHANNELS), "inner": (CHANNELS, NEURONS), "outer": (NEURONS, CHANNELS)}
    shapes |= {"inner_bias": (NEURONS,), "outer_bias": (CHANNELS,), "gamma": (CHANNELS,), "beta": (CHANNELS,)}
    microsoft = {"domain": "com.microsoft"}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "inner"], ["wide"], "inner"),
        helper.make_node("BiasGelu", ["wide", "inner_bias"], ["bent"], **microsoft),
        helper.make_node("MatMul", ["bent", "outer"], ["narrow"], "outer"),
        helper.make_node(
            "SkipLayerNormalization", ["narrow", "hidden", "gamma", "beta", "outer_bias"], ["logits"], **microsoft
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["rows", "tokens"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", "tokens", CHANNELS])],
        [numpy_helper.from_array(rng.normal(size=s).astype(np.float32), name) for name, s in shapes.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "source.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.fixture
def small(source: Path, tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    compress(source, tmp_path / "small.onnx", [{"input_ids": rng.integers(0, 100, (1, 20))} for _ in range(30)])
    return tmp_path / "small.onnx"


def run(path: Path, ids: np.ndarray) -> np.ndarray:
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"input_ids": ids})[0]


def test_a_compressed_network_says_what_the_original_says(source, small):
    ids = np.arange(100)[np.newaxis]
    exact, coarse = run(source, ids), run(small, ids)
    assert 0 < np.abs(coarse - exact).mean() < 0.05 * np.abs(exact).mean()


def test_a_row_does_not_depend_on_its_neighbours(small):
    ids = np.arange(100).reshape(10, 10)
    together = run(small, ids)
    for row in range(10):
        np.testing.assert_array_equal(run(small, ids[row : row + 1])[0], together[row])


def test_every_operator_is_the_faster_one(small):
    model = onnx.load(small)
    kinds = {node.op_type for node in model.graph.node}
    assert kinds >= {"MatMulIntegerToFloat", "FastGelu", "InstanceNormalization"}
    assert not kinds & {"MatMul", "BiasGelu", "SkipLayerNormalization"}
    assert {t.data_type for t in model.graph.initializer if t.name in ("inner_quantized", "outer_quantized")} == {
        TensorProto.INT8
    }
