from __future__ import annotations

import importlib.util
import sys
from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from engines.asr.moonshine.model import MoonshineRecognizer, token_limit
from engines.asr.search.ports import NOTHING
from engines.asr.serving.utterance import Utterance
from engines.build import moonshine
from engines.build.moonshine_graph import ApproximateGraphBuilder, GraphBuilder
from engines.build.moonshine_weights import QuantizedMatrix, join, pad_head_inputs, pad_head_outputs

if TYPE_CHECKING:
    from pathlib import Path


def matrix(inputs: int, outputs: int, seed: int) -> QuantizedMatrix:
    rng = np.random.default_rng(seed)
    return QuantizedMatrix(
        weight=rng.integers(0, 256, (inputs, outputs), np.uint8),
        scale=rng.uniform(0.01, 0.1, outputs).astype(np.float32),
        zero_point=rng.integers(100, 150, outputs, np.uint8),
        bias=rng.normal(size=outputs).astype(np.float32),
    )


def apply(matrix: QuantizedMatrix, rows: np.ndarray) -> np.ndarray:
    return rows @ ((matrix.weight.astype(np.float32) - matrix.zero_point) * matrix.scale) + matrix.bias


def test_joined_matrices_multiply_as_each_would() -> None:
    first, second, rows = matrix(6, 4, 1), matrix(6, 8, 2), np.ones((3, 6), np.float32)
    expected = np.concatenate([apply(first, rows), apply(second, rows)], axis=1)
    np.testing.assert_allclose(apply(join(first, second), rows), expected, rtol=1e-6)


def test_padded_heads_change_nothing() -> None:
    projection, output = matrix(6, 2 * 3, 3), matrix(2 * 3, 5, 4)
    rows = np.random.default_rng(5).normal(size=(4, 6)).astype(np.float32)
    heads = apply(projection, rows)
    padded = apply(pad_head_outputs(projection, heads=2, size=4), rows).reshape(4, 2, 4)
    np.testing.assert_allclose(padded[:, :, :3].reshape(4, 6), heads, rtol=1e-6)
    assert not padded[:, :, 3].any()
    padded[:, :, 3] = 77
    np.testing.assert_allclose(
        apply(pad_head_inputs(output, heads=2, size=4), padded.reshape(4, 8)), apply(output, heads), rtol=1e-5
    )


@pytest.mark.parametrize("inputs", [100, 128, 288])
def test_integers_multiply_about_as_floats_do(inputs: int) -> None:
    weights = matrix(inputs, 7, 6)
    rows = np.random.default_rng(7).normal(size=(3, inputs)).astype(np.float32)
    expected = apply(weights, rows)
    for builder, error in ((GraphBuilder(), 1e-5), (ApproximateGraphBuilder(), 0.02)):
        product = builder.op("Identity", builder.linear("rows", weights), output="product")
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3, None]) for n in ("rows", product)]
        model = builder.model("product", values[:1], values[1:])
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"rows": rows})
        np.testing.assert_allclose(found, expected, atol=error * np.abs(expected).max())


def test_the_build_says_how_to_install_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["moonshine"])
    assert moonshine.main() == 1
    assert "pip install 'moonshine-voice==0.1.0'" in capsys.readouterr().err


def test_a_file_that_is_missing_or_different_is_named(tmp_path: Path) -> None:
    with pytest.raises(moonshine.AssetsError, match=r"encoder_model\.ort is missing"):
        moonshine.build(tmp_path, tmp_path / "built")
    (tmp_path / "encoder_model.ort").write_bytes(b"something else")
    with pytest.raises(moonshine.AssetsError, match=r"encoder_model\.ort \(14 bytes\) is not the file"):
        moonshine.build(tmp_path, tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_the_package_is_found_without_being_imported() -> None:
    folder = moonshine.find_assets()
    moonshine.check_assets(folder)
    assert moonshine.PACKAGE not in sys.modules


def test_a_model_that_was_not_built_says_how(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"python -m engines\.build\.moonshine"):
        MoonshineRecognizer(tmp_path)


def test_hints_that_are_not_ready_are_waited_for_once_whatever_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []
    monkeypatch.setattr(
        "engines.asr.moonshine.model.wait", lambda biases, seconds: waits.append((len(biases), seconds))
    )
    recognizer = object.__new__(MoonshineRecognizer)
    recognizer._in_batches = lambda utterances, decode, silence, beams: [silence for _ in utterances]
    utterances = [Utterance(bias=Future(), wanted=1), Utterance(), Utterance(bias=Future(), wanted=9)]
    assert recognizer.search(utterances, thorough=True, hints_seconds=0.2) == [[NOTHING]] * 3
    assert waits == [(2, 0.2)]


def test_the_token_limit_grows_with_the_audio() -> None:
    assert token_limit(1600) == 7
    assert token_limit(30 * 16_000) == 201
