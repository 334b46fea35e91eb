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

from modelkit import smart_turn

if TYPE_CHECKING:
    from pathlib import Path


def network() -> bytes:
    """A network with the inner names of Smart Turn: each tensor is the one before it plus 1."""
    one = numpy_helper.from_array(np.ones(1, np.float32), "one")
    unused = numpy_helper.from_array(np.ones(1, np.float32), "scale_of_the_output")
    names = ["input_features", "layer_norm_8", "sum_1", "linear_28", "quantized"]
    nodes = [helper.make_node("Add", [name, "one"], [after]) for name, after in itertools.pairwise(names)]
    nodes.append(helper.make_node("Mul", ["quantized", "scale_of_the_output"], ["logits"]))
    inputs = [helper.make_tensor_value_info("input_features", TensorProto.FLOAT, ["pauses", 2])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pauses", 2])]
    graph = helper.make_graph(nodes, "smart_turn", inputs, outputs, [one, unused])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return model.SerializeToString()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(smart_turn.MEMBER, network())
    monkeypatch.setattr(smart_turn, "NETWORK_SHA256", hashlib.sha256(network()).hexdigest())
    return path


def test_inner_tensors_become_outputs(tmp_path: Path, wheel: Path):
    target = tmp_path / "model" / "sound.onnx"
    assert smart_turn.build(target, wheel)
    session = onnxruntime.InferenceSession(target)
    logit, frames, summary = session.run(["logit", "frames", "summary"], {"input_features": np.zeros((1, 2), "f")})
    assert [logit[0, 0], frames[0, 0], summary[0, 0]] == [3, 1, 2]
    graph = onnx.load(target).graph
    assert "logits" not in {name for node in graph.node for name in node.output}
    assert [tensor.name for tensor in graph.initializer] == ["one"]


def test_it_is_built_once(tmp_path: Path, wheel: Path):
    target = tmp_path / "sound.onnx"
    assert smart_turn.build(target, wheel)
    assert not smart_turn.build(target, wheel)
    target.unlink()
    assert smart_turn.build(target, wheel)


def test_another_network_is_refused(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(smart_turn, "NETWORK_SHA256", "0" * 64)
    with pytest.raises(smart_turn.SmartTurnError, match="another Smart Turn"):
        smart_turn.build(tmp_path / "sound.onnx", wheel)
    assert not (tmp_path / "sound.onnx").exists()


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_what_is_no_wheel_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "package.whl"
    path.write_bytes(content)
    with pytest.raises(smart_turn.SmartTurnError, match=r"download pipecat-ai==1\.14\.0"):
        smart_turn.build(tmp_path / "sound.onnx", path)


def test_a_wheel_that_cannot_be_downloaded_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(smart_turn, "PACKAGE", "pipecat-ai==1.14.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(smart_turn.SmartTurnError, match="check the network and pip's package index"):
        smart_turn.build(tmp_path / "sound.onnx")


def test_the_command_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    arguments = ["--target", str(tmp_path / "sound.onnx"), "--wheel", str(tmp_path / "missing.whl")]
    monkeypatch.setattr("sys.argv", ["smart_turn", *arguments])
    assert smart_turn.main() == 1
    assert "missing.whl holds no Smart Turn" in capsys.readouterr().err
