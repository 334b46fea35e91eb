"""How the network for sound comes out of the package's wheel."""

from __future__ import annotations

import hashlib
import itertools
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from engines.build import smart_turn
from engines.build.wheels import WheelError

if TYPE_CHECKING:
    from pathlib import Path


FRAMES = 400


def network() -> bytes:
    """A network with the inner names of Smart Turn: places in time, then each tensor is the one before it plus 1."""
    one = numpy_helper.from_array(np.ones(1, np.float32), "one")
    frames = numpy_helper.from_array(np.array([FRAMES], np.int64), "val_21")
    places = numpy_helper.from_array(np.arange(FRAMES, dtype=np.float32), "inner.encoder.embed_positions.weight")
    unused = numpy_helper.from_array(np.ones(1, np.float32), "scale_of_the_output")
    names = ["placed", "layer_norm_8", "sum_1", "linear_28", "quantized"]
    nodes = [helper.make_node("Add", [name, "one"], [after]) for name, after in itertools.pairwise(names)]
    nodes = [
        helper.make_node("MaxPool", ["input_features"], ["halved"], kernel_shape=[2], strides=[2]),
        helper.make_node("Add", ["halved", "inner.encoder.embed_positions.weight"], ["added"]),
        helper.make_node("ConstantOfShape", ["val_21"], ["zeros"]),
        helper.make_node("Add", ["added", "zeros"], ["placed"]),
        *nodes,
        helper.make_node("Mul", ["quantized", "scale_of_the_output"], ["logits"]),
    ]
    inputs = [helper.make_tensor_value_info("input_features", TensorProto.FLOAT, ["pauses", 1, 2 * FRAMES])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "smart_turn", inputs, outputs, [one, unused, frames, places])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return model.SerializeToString()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(smart_turn.MEMBER, network())
    monkeypatch.setattr(smart_turn, "NETWORK_SHA256", hashlib.sha256(network()).hexdigest())
    return path


def run(path: Path, frames: int) -> list[list[float]]:
    session = onnxruntime.InferenceSession(path)
    outputs = session.run(["logit", "frames", "summary"], {"input_features": np.zeros((1, 1, 2 * frames), "f")})
    return [output.ravel().tolist() for output in outputs]


def test_inner_tensors_become_outputs(tmp_path: Path, wheel: Path):
    assert smart_turn.build(tmp_path / "model", wheel)
    logit, frames, summary = run(tmp_path / "model" / smart_turn.WHOLE, FRAMES)
    assert [logit[0], frames[0], summary[0]] == [3, 1, 2]
    graph = onnx.load(tmp_path / "model" / smart_turn.WHOLE).graph
    assert "logits" not in {name for node in graph.node for name in node.output}
    assert "scale_of_the_output" not in {tensor.name for tensor in graph.initializer}


def test_the_last_frames_keep_their_places(tmp_path: Path, wheel: Path):
    smart_turn.build(tmp_path / "model", wheel)
    whole = run(tmp_path / "model" / smart_turn.WHOLE, FRAMES)
    recent = run(tmp_path / "model" / smart_turn.RECENT, smart_turn.RECENT_FRAMES)
    assert recent == [values[-smart_turn.RECENT_FRAMES :] for values in whole]


def test_a_network_without_places_cannot_be_shortened():
    model = onnx.load_from_string(network())
    del model.graph.initializer[:]
    with pytest.raises(smart_turn.SmartTurnError, match="embed_positions"):
        smart_turn.shortened(model, 10)


def test_it_is_built_once(tmp_path: Path, wheel: Path):
    target = tmp_path / "model"
    assert smart_turn.build(target, wheel)
    assert not smart_turn.build(target, wheel)
    (target / smart_turn.RECENT).unlink()
    assert smart_turn.build(target, wheel)


def test_another_network_is_refused(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(smart_turn, "NETWORK_SHA256", "0" * 64)
    with pytest.raises(smart_turn.SmartTurnError, match="another Smart Turn"):
        smart_turn.build(tmp_path / "model", wheel)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_what_is_no_wheel_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "package.whl"
    path.write_bytes(content)
    with pytest.raises(smart_turn.SmartTurnError, match=r"download pipecat-ai==1\.14\.0"):
        smart_turn.build(tmp_path / "model", path)


def test_a_wheel_that_cannot_be_downloaded_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(smart_turn, "PACKAGE", "pipecat-ai==1.14.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(WheelError, match="check the network and pip's package index"):
        smart_turn.build(tmp_path / "model")


def test_the_command_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    arguments = ["--target", str(tmp_path / "model"), "--wheel", str(tmp_path / "missing.whl")]
    monkeypatch.setattr("sys.argv", ["smart_turn", *arguments])
    assert smart_turn.main() == 1
    assert "missing.whl holds no Smart Turn" in capsys.readouterr().err
