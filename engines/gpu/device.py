"""Decides whether a network runs on a GPU, without importing PyTorch where it does not."""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NETWORK = "network.safetensors"
"""The network of a version's folder in the form that the GPU engine reads; the CPU reads the ``.onnx`` beside it."""
DEVICES = ("auto", "cpu", "cuda", "tensorrt", "torch-cpu")


@dataclass(frozen=True, slots=True)
class Placement:
    """Where Triton and the model's own parameters want a network.

    Attributes:
        kind: of the instance, as Triton tells it: ``CPU`` or ``GPU``.
        ordinal: number of the GPU of that instance.
        device: the parameter ``device``: ``cpu`` is onnxruntime, ``cuda`` a GPU, and ``auto`` a GPU where there is one,
            the network for it, and a PyTorch that can use it. ``tensorrt`` has the ``.onnx`` file computed by TensorRT,
            see ``tensorrt``; ``torch-cpu`` computes on the CPU what a GPU would, slowly, to try it.
    """

    kind: str = "CPU"
    ordinal: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise ValueError(f"the parameter device is {self.device!r}: set it to one of {', '.join(DEVICES)}")

    @classmethod
    def of(cls, args: Mapping[str, str], parameters: Mapping[str, str]) -> Placement:
        """Reads what Triton gives ``initialize``."""
        return cls(args["model_instance_kind"], int(args["model_instance_device_id"]), parameters.get("device", "auto"))

    @property
    def insists(self) -> bool:
        """Whether PyTorch is asked for by name, and not just where it can be had."""
        return self.kind == "GPU" or self.device in ("cuda", "torch-cpu")

    def torch_device(self, version: Path, devices: int) -> str | None:
        """Returns PyTorch's name of the device to use; None for onnxruntime.

        Args:
            version: folder of the model's version.
            devices: how many GPUs there are.

        Raises:
            ValueError: a GPU is asked for by name, and it or the network for it is missing.
        """
        has_network = (version / NETWORK).exists()
        if self.device in ("cpu", "tensorrt") or not (self.insists or (devices and has_network)):
            return None
        if not has_network:
            raise ValueError(f"{version} has no {NETWORK}, which a GPU needs: make it with python -m modelkit.gpu")
        if self.device == "torch-cpu":
            return "cpu"
        if self.ordinal >= devices:
            raise ValueError(f"there is no GPU {self.ordinal} here: set the parameter device to cpu, or leave it out")
        return f"cuda:{self.ordinal}"


def cuda_devices() -> int:
    """Asks the driver how many GPUs there are; 0 where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def missing_for(device: str) -> str | None:
    """Says what the engine lacks to compute on a device; None where it has everything. Imports PyTorch.

    Args:
        device: PyTorch's name of it.
    """
    try:
        torch, _ = (importlib.import_module(name) for name in ("torch", "safetensors"))
    except (ImportError, OSError) as error:
        return f"PyTorch or safetensors cannot be imported ({error})"
    return None if device == "cpu" or torch.cuda.is_available() else f"PyTorch {torch.__version__} can use no GPU here"
