from __future__ import annotations

from pathlib import Path

import onnxruntime as ort
import pytest

from engines.bert.gpu.tensorrt import tensorrt_providers, tensorrt_session

REPOSITORY = Path(__file__).parents[4] / "model_repository"
PROVIDERS = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]


def test_one_engine_is_built_for_all_shapes(tmp_path):
    (tensorrt, options), *others = tensorrt_providers(("input_ids", "attention_mask"), tmp_path, PROVIDERS)
    assert [tensorrt, *others] == PROVIDERS
    assert options["trt_profile_min_shapes"] == "input_ids:1x1,attention_mask:1x1"
    assert options["trt_profile_max_shapes"] == "input_ids:256x512,attention_mask:256x512"
    assert options["trt_engine_cache_path"] == str(tmp_path)


def test_without_tensorrt_it_is_said_what_to_do():

    if PROVIDERS[0] in ort.get_available_providers():
        pytest.skip("TensorRT is installed here")
    with pytest.raises(ValueError, match="TensorRT is not installed: pip install onnxruntime-gpu tensorrt, or set"):
        tensorrt_session(REPOSITORY / "qa_bert" / "1" / "model.int8.onnx", 1)
