"""How the network for voices comes out of the package's wheel."""

from __future__ import annotations

import hashlib
import io
import pickle
import struct
import sys
import types
import zipfile
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest

from engines.build import speaker
from engines.build.speaker_weights import CheckpointError, read_weights
from engines.build.wheels import WheelError

if TYPE_CHECKING:
    from pathlib import Path


class Tensor:
    """Pickles as PyTorch before version 1.6 did."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.ascontiguousarray(values, "<f4")

    def __reduce__(self) -> tuple[Any, ...]:
        shape, strides = self.values.shape, tuple(step // 4 for step in self.values.strides)
        return sys.modules["torch._utils"]._rebuild_tensor_v2, (Storage(self), 0, shape, strides, False, OrderedDict())


class Storage:
    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, 2)
        self.storages: dict[str, Tensor] = {}

    def persistent_id(self, obj: object) -> tuple[Any, ...] | None:
        if not isinstance(obj, Storage):
            return None
        name = str(len(self.storages))
        self.storages[name] = obj.tensor
        return ("storage", sys.modules["torch"].FloatStorage, name, "cpu", obj.tensor.values.size, None)


def checkpoint(weights: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    for head in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(head, file, 2)
    pickler = Pickler(file)
    pickler.dump({"step": 1, "model_state": OrderedDict({name: Tensor(value) for name, value in weights.items()})})
    pickle.dump(list(pickler.storages), file, 2)
    for tensor in pickler.storages.values():
        file.write(struct.pack("<q", tensor.values.size) + tensor.values.tobytes())
    return file.getvalue()


def small_weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    shapes = {"linear.weight": (256, 256), "linear.bias": (256,)}
    for layer in range(speaker.LAYERS):
        shapes |= {
            f"lstm.weight_ih_l{layer}": (1024, 256 if layer else 40),
            f"lstm.weight_hh_l{layer}": (1024, 256),
            f"lstm.bias_ih_l{layer}": (1024,),
            f"lstm.bias_hh_l{layer}": (1024,),
        }
    return {name: random.normal(0, 0.05, shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture(autouse=True)
def names_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names that pickles of PyTorch hold, without PyTorch."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})

    def _rebuild_tensor_v2() -> None: ...

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    for module in (torch, utils):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def expected(weights: dict[str, np.ndarray], mel: np.ndarray) -> np.ndarray:
    """What PyTorch's documentation says of LSTM, step by step."""
    rows = mel.transpose(1, 0, 2).astype(np.float64)
    for layer in range(speaker.LAYERS):
        hidden, cell, states = np.zeros((len(mel), 256)), np.zeros((len(mel), 256)), []
        given = [weights[f"lstm.{name}_l{layer}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        for row in rows:
            gates = row @ given[0].T + hidden @ given[1].T + given[2] + given[3]
            inputs, forget, new, output = np.split(gates, 4, axis=1)
            cell = sigmoid(forget) * cell + sigmoid(inputs) * np.tanh(new)
            hidden = sigmoid(output) * np.tanh(cell)
            states.append(hidden)
        rows = np.stack(states)
    raw = np.maximum(rows[-1] @ weights["linear.weight"].T + weights["linear.bias"], 0)
    return unit(raw)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def damped(rows: np.ndarray) -> np.ndarray:
    """The rows without the mean, and with less of the directions in which one voice varies."""
    with np.load(speaker.VARIATION) as found:
        centred = rows - found["mean"]
        return unit(centred - (centred @ found["directions"].T * found["damping"]) @ found["directions"])


def test_the_graph_computes_what_the_checkpoint_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    weights = small_weights()
    data = checkpoint(weights)
    monkeypatch.setattr(speaker, "WEIGHTS_SHA256", hashlib.sha256(data).hexdigest())
    wheel = tmp_path / "package.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(speaker.MEMBER, data)
    mel = np.random.default_rng(2).random((3, 12, 40), np.float32)
    own = expected(weights, mel)
    for plain, wanted in ((True, own), (False, damped(own))):
        assert speaker.build(tmp_path / "out", wheel, plain=plain)
        assert not speaker.build(tmp_path / "out", wheel, plain=plain)
        session = onnxruntime.InferenceSession(tmp_path / "out" / "speaker.onnx")
        (found,) = session.run(None, {"mel": mel})
        assert np.abs(found - wanted).max() < 1e-5


def test_another_wheel_is_refused_and_nothing_is_left(tmp_path: Path):
    for member in (speaker.MEMBER, "other"):
        wheel = tmp_path / f"{len(member)}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(member, b"weights")
        with pytest.raises(WheelError, match=r"resemblyzer==0\.1\.4"):
            speaker.build(tmp_path / "out", wheel)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", checkpoint.__doc__ or b"\x80\x02N."], ids=["none", "zip", "other"]
)
def test_what_is_no_checkpoint_is_refused(data: bytes):
    with pytest.raises(CheckpointError, match="named version"):
        read_weights(data, "model_state")


def test_a_pickle_runs_nothing(tmp_path: Path):
    class Runs:
        def __reduce__(self) -> tuple[Any, ...]:
            return (tmp_path.joinpath("made").mkdir, ())

    with pytest.raises(CheckpointError, match="names"):
        read_weights(pickle.dumps(Runs(), 2), "model_state")
    assert not (tmp_path / "made").exists()
