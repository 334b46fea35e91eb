from __future__ import annotations

from engines.accelerators.choice import Accelerator
from engines.bert.tensorrt import profile
from engines.session import gpu_providers

PROVIDERS = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]


def test_one_engine_is_built_for_all_shapes(tmp_path, monkeypatch):
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: PROVIDERS)
    accelerator = Accelerator("tensorrt", "fp16", ordinal=2)
    shapes = profile({"attention_mask": ("rows", "tokens"), "hidden_state": ("rows", "tokens", 64)})
    (tensorrt, options), (cuda, device), cpu = gpu_providers(accelerator, tmp_path, shapes)
    assert [tensorrt, cuda, cpu] == PROVIDERS
    assert options["trt_profile_min_shapes"] == "attention_mask:1x1,hidden_state:1x1x64"
    assert options["trt_profile_max_shapes"] == "attention_mask:256x512,hidden_state:256x512x64"
    assert options["trt_engine_cache_path"] == str(tmp_path)
    assert (options["trt_fp16_enable"], options["device_id"], device) == (True, 2, {"device_id": 2})
    (_, exact), *_ = gpu_providers(Accelerator("tensorrt", "fp32"), tmp_path, {})
    assert not exact["trt_fp16_enable"]


def test_cuda_computes_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: PROVIDERS)
    assert gpu_providers(Accelerator("cuda", "fp32"), tmp_path, {}) == [(PROVIDERS[1], {"device_id": 0}), PROVIDERS[2]]
