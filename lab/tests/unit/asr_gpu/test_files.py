from __future__ import annotations

import subprocess
import sys

import pytest

from engines.asr import placement
from engines.build import moonshine
from engines.gpu.device import NETWORK

ON_THE_CPU = {"model_config": "{}", "model_instance_kind": "CPU", "model_instance_device_id": "0"}


@pytest.mark.parametrize("device", [None, "cpu", "auto"])
def test_as_shipped_or_without_weights_for_it_a_gpu_is_left_alone(device, tmp_path, monkeypatch):
    monkeypatch.setattr(placement, "cuda_devices", lambda: 1)
    assert placement.gpu_networks(tmp_path, ON_THE_CPU, {"device": device} if device else {}) is None


@pytest.mark.parametrize(
    ("device", "complaint"),
    [
        ("cuda", r"which a GPU needs: make it with python -m engines\.build\.moonshine --gpu"),
        ("tensorrt", "TensorRT computes the BERTs alone: set the parameter device of recognition to cuda or cpu"),
        ("tpu", "the parameter device is 'tpu'"),
    ],
)
def test_what_is_asked_for_by_name_and_missing_is_an_error(device, complaint, tmp_path):
    with pytest.raises(ValueError, match=complaint):
        placement.gpu_networks(tmp_path, ON_THE_CPU, {"device": device})


def test_the_parameters_of_the_model_are_read(weights, monkeypatch):
    pytest.importorskip("torch")
    from engines.asr.gpu import networks  # noqa: PLC0415 - only where PyTorch is

    made = []
    monkeypatch.setattr(networks, "GpuNetworks", lambda *given: made.append(given))
    parameters = {
        "device": "torch-cpu",
        "workers": "3",
        "threads": "2",
        "max_utterance_seconds": "10",
        "gpu_precision": "bfloat16",
    }
    placement.gpu_networks(weights.parent, ON_THE_CPU, parameters)
    ((path, options),) = made
    assert path == weights
    assert (options.device, options.precision, options.rooms, options.threads) == ("cpu", "bfloat16", 3, 2)
    assert options.sizes.longest == 459
    with pytest.raises(ValueError, match="gpu_precision is 'int4': set it to one of float16, bfloat16, float32"):
        placement.gpu_networks(weights.parent, ON_THE_CPU, parameters | {"gpu_precision": "int4"})


def test_recognition_on_the_cpu_does_not_import_pytorch():
    code = "import sys, engines.asr.placement, engines.asr.moonshine.model; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_damaged_file_is_named(tmp_path):
    pytest.importorskip("torch")
    from safetensors.torch import save_file  # noqa: PLC0415 - only where PyTorch is

    from engines.asr.gpu.weights import Weights  # noqa: PLC0415 - likewise

    path = tmp_path / NETWORK
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"network\.safetensors holds no weights of Moonshine"):
        Weights.read(path)
    save_file({}, path)
    with pytest.raises(ValueError, match="it is of another kind"):
        Weights.read(path)


def test_the_command_writes_the_weights_beside_the_graphs(tmp_path, monkeypatch):
    monkeypatch.setattr(moonshine, "build", lambda assets, target: False)
    monkeypatch.setattr(sys, "argv", ["moonshine", "--target", str(tmp_path), "--gpu"])
    pytest.importorskip("safetensors")
    assert moonshine.main() == 0
    assert (tmp_path / NETWORK).stat().st_mode & 0o777 == 0o644


def test_without_safetensors_the_command_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(moonshine, "build", lambda assets, target: False)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    monkeypatch.setattr(sys, "argv", ["moonshine", "--target", str(tmp_path), "--gpu"])
    assert moonshine.main() == 1
    assert r"pip install '.[gpu]'" in capsys.readouterr().err
