"""ONNX graphs of networks, and operators that are rewritten in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from onnx import TensorProto, helper

from engines.build.quantize import Scheme
from lab.tests.unit.modelkit.optimize.conftest import inputs
from modelkit.export import QA_INPUTS, QA_OUTPUTS, fuse_all
from modelkit.operators import approximate_gelus, clip_gelus, vectorize_norms
from modelkit.optimize.graphs import trace
from modelkit.optimize.points import Fused

if TYPE_CHECKING:
    from pathlib import Path


def run(model: Path | onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return ort.InferenceSession(source, providers=["CPUExecutionProvider"]).run(None, feeds)


def feeds() -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in zip(QA_INPUTS, inputs(), strict=True)}


@pytest.fixture
def traced(network, tmp_path) -> Path:
    trace(network, tmp_path / "traced.onnx", QA_INPUTS, QA_OUTPUTS)
    return tmp_path / "traced.onnx"


@pytest.fixture
def fused(network, traced, tmp_path) -> Path:
    fuse_all(traced, tmp_path / "fused.onnx", network.encoder.config)
    return tmp_path / "fused.onnx"


@pytest.fixture
def expected(network) -> list[np.ndarray]:
    with torch.no_grad():
        return [output.numpy() for output in network(*inputs())]


def test_graphs_compute_what_the_network_does(traced, fused, expected):
    seen = inputs()[1].numpy().astype(bool)
    for path in (traced, fused):
        for got, wanted in zip(run(path, feeds()), expected, strict=True):
            np.testing.assert_allclose(got[seen], wanted[seen], atol=1e-4)
    assert not {"Attention", "SkipLayerNormalization"} & {node.op_type for node in onnx.load(traced).graph.node}


def test_norms_are_the_same_in_other_operators(fused):
    model = onnx.load(fused)
    vectorize_norms(model)
    onnx.checker.check_model(model)
    kinds = [node.op_type for node in model.graph.node]
    assert "SkipLayerNormalization" not in kinds
    assert kinds.count("InstanceNormalization") == 12
    for got, wanted in zip(run(model, feeds()), run(fused, feeds()), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-4)


def test_gelus_by_tanh_are_almost_the_same(fused):
    model = onnx.load(fused)
    approximate_gelus(model)
    assert [node.op_type for node in model.graph.node].count("FastGelu") == 6
    for got, wanted in zip(run(model, feeds()), run(fused, feeds()), strict=True):
        difference = np.abs(got - wanted).max()
        assert 0 < difference < 0.05 * np.abs(wanted).max()


def test_a_clipped_gelu_changes_only_beyond_its_bound():
    graph = helper.make_graph(
        [helper.make_node("Gelu", ["x"], ["y"], name="gelu", domain="com.microsoft")],
        "gelu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    plain = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    clipped = onnx.ModelProto()
    clipped.CopyFrom(plain)
    clip_gelus(clipped)
    values = {"x": np.array([-50, -1, 0, 3, 9.99, 10.5, 1000], np.float32)}
    (exact,), (bounded,) = run(plain, values), run(clipped, values)
    np.testing.assert_array_equal(bounded[:5], exact[:5])
    assert bounded[5:].tolist() == [10.0, 10.0]


@pytest.mark.parametrize(
    "form",
    [
        Fused(),
        Fused(Scheme(measure=None)),
        Fused(Scheme(signed_weights=False), clipped=True),
        Fused(Scheme(), lean=True),
    ],
)
def test_every_form_says_about_the_same(form, network, traced, expected, tmp_path):
    samples = [{name: values[:2] for name, values in feeds().items()}]
    form.write(traced, tmp_path / "made.onnx", network, lambda: samples)
    seen = inputs()[1].numpy().astype(bool)
    for got, wanted in zip(run(tmp_path / "made.onnx", feeds()), expected, strict=True):
        assert np.abs(got - wanted)[seen].mean() < 0.15 * np.abs(wanted).mean()


def test_signed_weights_are_those_that_no_product_overflows(network, traced, tmp_path):
    form = Fused(Scheme())
    form.write(traced, tmp_path / "made.onnx", network, lambda: [feeds()])
    weights = [
        onnx.numpy_helper.to_array(tensor).astype(int)
        for tensor in onnx.load(tmp_path / "made.onnx").graph.initializer
        if tensor.data_type == TensorProto.INT8 and tensor.dims[1:]
    ]
    assert len(weights) == 6 * 4 + 1
    assert max(np.abs(w).max() for w in weights) > 100
    assert max(np.abs(w[0::2] + w[1::2]).max() for w in weights) <= 128
