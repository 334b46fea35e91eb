"""Where training computes."""

from __future__ import annotations

import torch

from modelkit.errors import TrainingError

CUDA_BATCHES = 4
"""On a GPU batches are so many times larger."""


def choose_device(name: str) -> torch.device:
    """Turns ``auto``, ``cpu`` or ``cuda`` into a device.

    Raises:
        TrainingError: there is no GPU where one was asked for.
    """
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise TrainingError("PyTorch finds no CUDA device: use --device cpu, or a machine with a GPU and its PyTorch")
    return torch.device("cuda" if name == "cuda" or (name == "auto" and available) else "cpu")


def computes_in_bfloat16(device: torch.device) -> bool:
    """Tells whether products of bfloat16 matrices are the fast ones there: on GPUs, with AMX, and with AVX-512 BF16."""
    capabilities = torch.cpu.get_capabilities()
    return device.type == "cuda" or any(capabilities.get(name, False) for name in ("amx_bf16", "avx512_bf16"))
