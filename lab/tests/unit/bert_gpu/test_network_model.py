"""What computes a network in Triton, where there is a GPU and the network for it."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

from engines.accelerators.choice import Accelerator
from engines.gpu import device
from engines.gpu.device import NETWORK, missing_for
from tests.unit.engines.bert.stand_in import import_beside_triton

ON_THE_CPU = {"model_config": "{}", "model_instance_kind": "CPU", "model_instance_device_id": "0"}
WITHOUT_CUDA = SimpleNamespace(__version__="2.13.0+cpu", cuda=SimpleNamespace(is_available=lambda: False))


@pytest.fixture
def model(monkeypatch):
    module = import_beside_triton("engines.bert.network_model", monkeypatch)
    monkeypatch.setattr(module, "cuda_devices", lambda: 1)
    monkeypatch.setattr(module, "network_file", lambda version: version / "model.onnx")
    monkeypatch.setattr(module, "BertSession", lambda *given: given)
    monkeypatch.setitem(sys.modules, "safetensors", SimpleNamespace())
    return module


@pytest.fixture
def version(tmp_path):
    (tmp_path / NETWORK).touch()
    return tmp_path


@pytest.mark.parametrize("torch", [None, WITHOUT_CUDA], ids=["none", "one without CUDA"])
def test_a_gpu_that_pytorch_cannot_use_is_left_alone(torch, model, version, monkeypatch):
    warned = []
    monkeypatch.setattr(device, "logger", SimpleNamespace(warning=lambda text, *given: warned.append(text % given)))
    monkeypatch.setitem(sys.modules, "torch", torch)
    network = model._open(version, ON_THE_CPU, {"threads": "2"})
    assert isinstance(network, model._OnnxNetwork)
    assert network._session == (version / "model.onnx", 2, Accelerator())
    (warning,) = warned
    assert warning.startswith("the GPU is left alone, and inference is slower: PyTorch")


@pytest.mark.parametrize(
    ("args", "wanted", "torch"),
    [
        (ON_THE_CPU, "cuda", None),
        (ON_THE_CPU, "cuda", WITHOUT_CUDA),
        (ON_THE_CPU, "torch-cpu", None),
        (ON_THE_CPU | {"model_instance_kind": "GPU"}, "auto", None),
    ],
)
def test_a_device_asked_for_by_name_wants_pytorch(args, wanted, torch, model, version, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(
        ValueError,
        match=r"PyTorch .*: run `pip install '.\[serve,gpu\]'` in a checkout of Vivavoce, or set the parameter dev",
    ):
        model._open(version, args, {"threads": "2", "device": wanted})


def test_an_accelerator_computes_in_place_of_a_gpu(model, version):
    stanza = {"cpu_execution_accelerator": [{"name": "openvino", "parameters": {"precision_mode": "int8"}}]}
    config = json.dumps({"optimization": {"execution_accelerators": stanza}})
    network = model._open(version, ON_THE_CPU | {"model_config": config}, {"threads": "2", "device": "auto"})
    assert network._session == (version / "model.onnx", 2, Accelerator("openvino", "int8"))
    network = model._open(version, ON_THE_CPU, {"threads": "2", "device": "tensorrt"})
    assert network._session == (version / "model.onnx", 2, Accelerator("tensorrt", "fp16"))


def test_to_compute_on_the_cpu_pytorch_needs_no_cuda():
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    assert missing_for("cpu") is None
