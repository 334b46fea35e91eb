"""TensorRT for a network's ``.onnx`` file: ``device`` is ``tensorrt``.

It comes through onnxruntime (``pip install onnxruntime-gpu tensorrt``), which gives TensorRT what it can compute, and
CUDA the rest. It wants the float32 file: in that of INT8 the operators are onnxruntime's own. Rows are padded, those of
like length together, as on the CPU. Engines are built at the first start, in minutes, and kept beside the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime as ort

from engines.bert.session import BertSession

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from engines.bert.session import Provider

_MAX_ROWS, _MAX_TOKENS = 256, 512
_USUAL_ROWS, _USUAL_TOKENS = 32, 128
_GROUP_TOKENS = 16384


def tensorrt_session(path: Path, threads: int) -> BertSession:
    """Load a network for TensorRT.

    Args:
        path: a float32 ``.onnx`` file; its engines are kept beside it.
        threads: cores for what is left to the CPU.

    Raises:
        ValueError: TensorRT is not installed.
    """
    inputs = BertSession(path, threads).inputs
    providers = tensorrt_providers(inputs, path.parent / "tensorrt", ort.get_available_providers())
    return BertSession(path, threads, providers, _GROUP_TOKENS)


def tensorrt_providers(inputs: Collection[str], cache: Path, available: Collection[str]) -> list[Provider]:
    """Return onnxruntime's options for TensorRT: half precision, one engine.

    Args:
        inputs: of the network, ``[rows, tokens]`` each.
        cache: folder for the engines.
        available: what this onnxruntime can compute with.

    Raises:
        ValueError: TensorRT is not among it.
    """
    if "TensorrtExecutionProvider" not in available:
        raise ValueError(
            "TensorRT is not installed: pip install onnxruntime-gpu tensorrt, or set the parameter device to auto"
        )

    def shapes(rows: int, tokens: int) -> str:
        return ",".join(f"{name}:{rows}x{tokens}" for name in inputs)

    options = {
        "trt_fp16_enable": True,
        "trt_engine_cache_enable": True,
        "trt_engine_cache_path": str(cache),
        "trt_profile_min_shapes": shapes(1, 1),
        "trt_profile_opt_shapes": shapes(_USUAL_ROWS, _USUAL_TOKENS),
        "trt_profile_max_shapes": shapes(_MAX_ROWS, _MAX_TOKENS),
    }
    return [("TensorrtExecutionProvider", options), "CUDAExecutionProvider", "CPUExecutionProvider"]
