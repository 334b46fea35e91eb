"""Networks small enough for a CPU, and where they are computed: on a GPU too where there is one."""

from __future__ import annotations

import numpy as np
import pytest

WIDTH, HEADS, POSITIONS, VOCABULARY = 64, 4, 32, 100
LENGTHS = (1, 2, 31, 17, 32, 5)
GPU = "cuda:0"
"""With its number: PyTorch makes no other the current device."""


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    return torch.device(GPU if request.param == "cuda" else "cpu")


@pytest.fixture
def kernel_device():
    """Where kernels of the Triton language run: compiled on a GPU, else interpreted."""
    torch = pytest.importorskip("torch")
    return torch.device(GPU if torch.cuda.is_available() else "cpu")


@pytest.fixture
def fused():
    pytest.importorskip("triton")
    from engines.bert.gpu.kernels import FusedOps  # noqa: PLC0415 - only where the package triton is

    return FusedOps()


@pytest.fixture
def tiled():
    pytest.importorskip("triton")
    from engines.gpu.tiled_attention import tiled_attention  # noqa: PLC0415 - likewise

    return tiled_attention


@pytest.fixture(params=["span", "intent_slot"])
def shape(request):
    pytest.importorskip("torch")
    from engines.bert.gpu.network import NetworkShape  # noqa: PLC0415 - only where PyTorch is

    return NetworkShape(
        WIDTH, 2, HEADS, 128, VOCABULARY, POSITIONS, request.param, 5, 7, reads_segments=request.param == "span"
    )


@pytest.fixture
def requests(shape):
    """Requests of one row or several, with and without padding."""
    rng = np.random.default_rng(0)
    found = []
    for lengths in (LENGTHS, (3,), (20, 9)):
        mask = np.arange(max(lengths)) < np.array(lengths)[:, np.newaxis]
        request = {
            "input_ids": rng.integers(0, VOCABULARY, mask.shape),
            "attention_mask": mask.astype(np.int64),
            "token_type_ids": rng.integers(0, 2, mask.shape),
        }
        found.append(request if shape.reads_segments else {k: v for k, v in request.items() if k != "token_type_ids"})
    return found
