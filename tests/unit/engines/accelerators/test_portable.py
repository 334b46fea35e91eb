"""Graphs of onnxruntime's own operators, written with standard ones, compute the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from engines.accelerators.portable import NotPortableError, float32_graph, portable
from tests.unit.engines.accelerators.networks import BERTS, DECODER, ENCODER, VOICE, features, tokens

if TYPE_CHECKING:
    from pathlib import Path

IN_8_BITS, IN_FLOAT32 = 1e-4, 0.15
"""Greatest distances from a graph in 8 bits. In float32 no range is clipped, with which the networks were fitted."""


def run(graph: bytes | str, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    return ort.InferenceSession(graph, providers=["CPUExecutionProvider"]).run(None, feeds)


def off(got: list[np.ndarray], expected: list[np.ndarray], mask: np.ndarray) -> float:
    """The distance where there are tokens, as a share of the length."""
    shares = []
    for one, other in zip(got, expected, strict=True):
        kept = mask.astype(bool) if one.shape[:2] == mask.shape else np.ones(len(one), bool)
        shares.append(float(np.linalg.norm((one - other)[kept]) / np.linalg.norm(other[kept])))
    return max(shares)


@pytest.mark.parametrize("name", BERTS)
@pytest.mark.parametrize("quantized", [True, False], ids=["int8", "fp32"])
def test_a_bert_in_8_bits_computes_the_same_with_standard_operators(name: str, quantized: bool):
    model = onnx.load(BERTS[name])
    rewritten = portable(model, quantized=quantized)
    own = {node.op_type for node in rewritten.graph.node if node.domain == "com.microsoft"}
    assert own <= {"BiasGelu", "FastGelu", "SkipLayerNormalization"}
    onnx.checker.check_model(rewritten)
    feeds = tokens(node.name for node in model.graph.input)
    expected = run(str(BERTS[name]), feeds)
    bound = IN_8_BITS if quantized else IN_FLOAT32
    assert off(run(rewritten.SerializeToString(), feeds), expected, feeds["attention_mask"]) < bound


def test_padding_changes_no_row():
    graph = portable(onnx.load(BERTS["intent_slot_bert"]), quantized=False).SerializeToString()
    together = run(graph, tokens(("input_ids", "attention_mask")))
    alone = run(graph, {name: rows[2:, :12] for name, rows in tokens(("input_ids", "attention_mask")).items()})
    np.testing.assert_allclose(together[0][2:], alone[0], atol=1e-4)
    np.testing.assert_allclose(together[1][2:, :12], alone[1], atol=1e-4)


def test_an_encoder_with_rotary_embeddings_computes_the_same():
    rewritten = portable(onnx.load(ENCODER), quantized=False)
    assert not any(node.domain for node in rewritten.graph.node)
    for got, expected in zip(
        run(rewritten.SerializeToString(), features()), run(str(ENCODER), features()), strict=True
    ):
        np.testing.assert_allclose(got, expected, atol=1e-4)


def test_products_of_dynamic_ranges_become_those_of_float32():
    model = onnx.load(VOICE)
    rewritten = portable(model, quantized=False)
    assert "MatMulInteger" not in {node.op_type for node in rewritten.graph.node}
    feeds = {"ids": np.array([[0, 43, 50, 60, 0]]), "speed": np.ones(1, np.float32)}
    (got, *_), (expected, *_) = run(rewritten.SerializeToString(), feeds), run(str(VOICE), feeds)
    assert got.shape[:2] == expected.shape[:2]


def test_a_graph_of_standard_operators_stays_as_it_is(tmp_path: Path):
    once = portable(onnx.load(ENCODER), quantized=False)
    assert portable(once, quantized=False) is once
    onnx.save(once, tmp_path / "model.onnx")
    assert float32_graph(tmp_path / "model.onnx") == tmp_path / "model.onnx"
    assert float32_graph(DECODER) == DECODER
    assert isinstance(float32_graph(BERTS["qa_bert"]), bytes)


@pytest.mark.parametrize(
    ("path", "quantized", "complaint"),
    [
        (DECODER, False, "GroupQueryAttention.* can be computed by onnxruntime alone"),
        (ENCODER, True, "its products are not in 8 bits"),
        (VOICE, True, "its products are not in 8 bits of fixed ranges"),
    ],
)
def test_what_cannot_be_written_otherwise_is_named(path: Path, quantized: bool, complaint: str):
    with pytest.raises(NotPortableError, match=complaint):
        portable(onnx.load(path), quantized=quantized)
