"""Placement of recognition on CPU or GPU, without importing PyTorch early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.accelerators.choice import Accelerator
from engines.gpu.device import NETWORK, Placement, cuda_devices, usable_device

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engines.asr.moonshine.networks import Networks

_MAKER = "python -m engines.build.moonshine --gpu"


def gpu_networks(folder: Path, args: Mapping[str, str], parameters: Mapping[str, str]) -> Networks | None:
    """Load the networks on the device that the model's parameters ask for.

    Args:
        folder: of the model's files.
        args: what Triton gives ``initialize``.
        parameters: of the model; ``device`` is ``cpu`` where it is left out.

    Returns:
        None where onnxruntime computes them.

    Raises:
        ValueError: what is asked for by name is missing, or a parameter cannot be.
    """
    placement = Placement.of(args, parameters, default="cpu").beside(Accelerator.of(args))
    if placement.device == "tensorrt":
        raise ValueError("TensorRT computes the BERTs alone: set the parameter device of recognition to cuda or cpu")
    device = usable_device(placement, folder, cuda_devices(), _MAKER)
    if device is None:
        return None
    from engines.asr.gpu.networks import GpuNetworks, GpuOptions  # noqa: PLC0415 - a CPU never loads PyTorch

    return GpuNetworks(folder / NETWORK, GpuOptions.of(parameters, device))
