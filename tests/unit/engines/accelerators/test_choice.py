"""Triton's stanza of accelerators: what is read of it, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from engines.accelerators.choice import Accelerator, AcceleratorError
from engines.asr.whisper import loading as whisper
from engines.gpu.device import Placement

if TYPE_CHECKING:
    from pathlib import Path


def args(kind: str = "", *named: dict[str, object], instance: str = "CPU", ordinal: str = "0") -> dict[str, str]:
    """What Triton hands to ``initialize``: protobuf's JSON, where an empty list stands for none."""
    lists = {f"{each}_execution_accelerator": list(named) if each == kind else [] for each in ("cpu", "gpu")}
    config = {"optimization": {"execution_accelerators": lists}} if kind else {}
    return {
        "model_config": json.dumps(config),
        "model_instance_kind": instance,
        "model_instance_device_id": ordinal,
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (args(), Accelerator()),
        (args("cpu"), Accelerator()),
        (args("cpu", {"name": "openvino"}), Accelerator("openvino", "fp32")),
        (
            args("cpu", {"name": "openvino", "parameters": {"precision_mode": "BF16", "num_threads": "2"}}),
            Accelerator("openvino", "bf16", 2),
        ),
        (args("gpu", {"name": "cuda", "parameters": {}}, ordinal="3"), Accelerator("cuda", "fp32")),
        (
            args(
                "gpu",
                {"name": "tensorrt", "parameters": {"precision_mode": "FP16"}},
                instance="GPU",
                ordinal="3",
            ),
            Accelerator("tensorrt", "fp16", ordinal=3),
        ),
    ],
)
def test_a_stanza_is_read(given: dict[str, str], expected: Accelerator):
    assert Accelerator.of(given) == expected


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (args("cpu", {"name": "abacus"}), "no accelerator 'abacus': use one of openvino, cuda, tensorrt"),
        (args("gpu", {"name": "openvino"}), "openvino is no gpu_execution_accelerator: name it cpu_"),
        (args("cpu", {"name": "openvino"}, {"name": "openvino"}), "names 2 accelerators: name one"),
        (
            args("cpu", {"name": "openvino", "parameters": {"precision_mode": "fp8"}}),
            "precision_mode of openvino is 'fp8': set it to one of fp32, bf16, fp16, int8",
        ),
        (
            args("gpu", {"name": "tensorrt", "parameters": {"precision_mode": "int8"}}),
            "precision_mode of tensorrt is 'int8': set it to one of fp32, fp16",
        ),
        (
            args("cpu", {"name": "openvino", "parameters": {"num_threads": "0"}}),
            "num_threads is '0': set it to a number of at least 1",
        ),
        (
            args("cpu", {"name": "openvino", "parameters": {"speed": "high"}}),
            "openvino has no parameter 'speed': use precision_mode or num_threads, or leave it out",
        ),
        (
            args("gpu", {"name": "cuda", "parameters": {"num_threads": "2"}}),
            "cuda has no parameter 'num_threads': use precision_mode, or leave it out",
        ),
    ],
)
def test_what_is_unknown_is_refused_with_what_there_is(given: dict[str, str], complaint: str):
    with pytest.raises(AcceleratorError, match=complaint):
        Accelerator.of(given)


def test_whisper_which_onnxruntime_does_not_compute_refuses(tmp_path: Path):
    with pytest.raises(AcceleratorError, match="openvino cannot be used: CTranslate2 computes Whisper; leave the acc"):
        whisper.load(tmp_path, args("cpu", {"name": "openvino"}), {"threads": "1", "workers": "1"}, {})


def test_an_accelerator_computes_in_place_of_pytorch():
    openvino = Accelerator("openvino", "fp32")
    for kind, device in (("CPU", "auto"), ("GPU", "auto"), ("CPU", "cpu")):
        assert Placement(kind, 0, device).beside(openvino) == Placement("CPU", 0, "cpu")
    assert Placement("GPU", 1, "cuda").beside(Accelerator()) == Placement("GPU", 1, "cuda")
    with pytest.raises(AcceleratorError, match="openvino cannot be used: the parameter device is 'cuda'"):
        Placement("CPU", 0, "cuda").beside(openvino)
