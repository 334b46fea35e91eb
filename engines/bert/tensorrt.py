"""Shapes of a BERT's batches on TensorRT, through onnxruntime.

``pip install onnxruntime-gpu tensorrt`` brings it; what it cannot compute, CUDA does. Rows are padded, those of like
length together, as on the CPU. One engine for all shapes is built at the first start, in minutes, and kept beside the
file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GROUP_TOKENS = 16384
"""Tokens of one call, padding included."""
_MAX_ROWS, _MAX_TOKENS = 256, 512
_USUAL_ROWS, _USUAL_TOKENS = 32, 128


def profile(inputs: Mapping[str, Sequence[int | str]]) -> dict[str, object]:
    """Return TensorRT's options for the inputs of a network.

    Args:
        inputs: sizes of each by its name: ``[rows, tokens]``, and of a hidden state ``[rows, tokens, width]``.
    """

    def shapes(rows: int, tokens: int) -> str:
        return ",".join(f"{name}:{'x'.join(map(str, (rows, tokens, *dims[2:])))}" for name, dims in inputs.items())

    return {
        "trt_profile_min_shapes": shapes(1, 1),
        "trt_profile_opt_shapes": shapes(_USUAL_ROWS, _USUAL_TOKENS),
        "trt_profile_max_shapes": shapes(_MAX_ROWS, _MAX_TOKENS),
    }
