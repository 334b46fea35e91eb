from __future__ import annotations

import subprocess
import sys

import pytest

from engines.gpu.device import NETWORK, Placement, cuda_devices


@pytest.fixture
def version(tmp_path):
    (tmp_path / NETWORK).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "device", "devices", "expected"),
    [
        ("CPU", "auto", 0, None),
        ("CPU", "auto", 1, "cuda:0"),
        ("CPU", "cpu", 1, None),
        ("CPU", "cuda", 1, "cuda:0"),
        ("CPU", "torch-cpu", 0, "cpu"),
        ("CPU", "tensorrt", 1, None),
        ("GPU", "auto", 1, "cuda:0"),
        ("GPU", "cpu", 1, None),
    ],
)
def test_where_a_network_runs(version, kind, device, devices, expected):
    assert Placement(kind, 0, device).torch_device(version, devices) == expected


def test_an_instance_runs_on_the_gpu_that_triton_gives_it(version):
    args = {"model_instance_kind": "GPU", "model_instance_device_id": "3"}
    assert Placement.of(args, {}).torch_device(version, 4) == "cuda:3"


def test_without_a_network_for_it_a_gpu_is_left_alone(tmp_path):
    assert Placement().torch_device(tmp_path, 1) is None


def test_what_is_asked_for_by_name_and_missing_is_an_error(tmp_path, version):
    with pytest.raises(ValueError, match=r"there is no GPU 0 here: set the parameter device to cpu"):
        Placement(device="cuda").torch_device(version, 0)
    (tmp_path / NETWORK).unlink()
    with pytest.raises(ValueError, match=r"has no network\.safetensors, which a GPU needs: make it with python -m"):
        Placement("GPU").torch_device(tmp_path, 1)
    with pytest.raises(ValueError, match="the parameter device is 'tpu': set it to one of auto, cpu, cuda, tensorrt"):
        Placement(device="tpu")


def test_the_driver_is_asked_without_pytorch():
    assert cuda_devices() >= 0
    code = "import sys; from engines.gpu.device import *; cuda_devices(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_model_on_the_cpu_does_not_import_pytorch():
    code = (
        "import sys, types; sys.modules['triton_python_backend_utils'] = types.ModuleType('stand-in');"
        "import engines.bert.network_model; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
