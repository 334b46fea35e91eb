"""Choice between GPU and CPU for a network, without importing PyTorch early."""

from __future__ import annotations

import ctypes
import importlib
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engines.accelerators.choice import Accelerator

logger = logging.getLogger(__name__)

NETWORK = "network.safetensors"
"""The network of a folder in the form that an engine on a GPU reads; the CPU reads the ``.onnx`` beside it."""
MAKER = "python -m modelkit.gpu"
DEVICES = ("auto", "cpu", "cuda", "tensorrt", "torch-cpu")


@dataclass(frozen=True, slots=True)
class Placement:
    """Requested device, of Triton and of the model's parameters.

    Attributes:
        kind: of the instance, as Triton tells it: ``CPU`` or ``GPU``.
        ordinal: number of the GPU of that instance.
        device: the parameter ``device``: ``cpu`` is onnxruntime, ``cuda`` a GPU, and ``auto`` a GPU where there is one,
            the network for it, and a PyTorch that can use it. ``tensorrt`` has the ``.onnx`` file computed by TensorRT,
            as the accelerator of that name in ``fp16``; ``torch-cpu`` computes on the CPU what a GPU would,
            slowly, to try it.
    """

    kind: str = "CPU"
    ordinal: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise ValueError(f"the parameter device is {self.device!r}: set it to one of {', '.join(DEVICES)}")

    @classmethod
    def of(cls, args: Mapping[str, str], parameters: Mapping[str, str], default: str = "auto") -> Placement:
        """Read the arguments of ``initialize``; ``default`` is the fallback device."""
        return cls(
            args["model_instance_kind"], int(args["model_instance_device_id"]), parameters.get("device", default)
        )

    def beside(self, accelerator: Accelerator) -> Placement:
        """Return the placement beside an accelerator, which replaces PyTorch.

        Raises:
            AcceleratorError: a device that is no accelerator's is asked for by name.
        """
        if not accelerator.name:
            return self
        if self.device not in ("auto", "cpu"):
            accelerator.refuse(f"the parameter device is {self.device!r}, which computes by itself")
        return replace(self, kind="CPU", device="cpu")

    @property
    def insists(self) -> bool:
        """True if PyTorch is asked for by name."""
        return self.kind == "GPU" or self.device in ("cuda", "torch-cpu")

    def torch_device(self, folder: Path, devices: int, maker: str = MAKER) -> str | None:
        """Return PyTorch's name of the device to use; None for onnxruntime.

        Args:
            folder: of the network.
            devices: how many GPUs there are.
            maker: the command that writes the network for a GPU.

        Raises:
            ValueError: a GPU is asked for by name, and it or the network for it is missing.
        """
        has_network = (folder / NETWORK).exists()
        if self.device in ("cpu", "tensorrt") or not (self.insists or (devices and has_network)):
            return None
        if not has_network:
            raise ValueError(f"{folder} has no {NETWORK}, which a GPU needs: make it with {maker}")
        if self.device == "torch-cpu":
            return "cpu"
        if self.ordinal >= devices:
            raise ValueError(f"there is no GPU {self.ordinal} here: set the parameter device to cpu, or leave it out")
        return f"cuda:{self.ordinal}"


def usable_device(placement: Placement, folder: Path, devices: int, maker: str = MAKER) -> str | None:
    """Return PyTorch's device name; None for onnxruntime.

    Args:
        placement: what is wanted.
        folder: of the network.
        devices: how many GPUs there are.
        maker: the command that writes the network for a GPU.

    Raises:
        ValueError: what is asked for by name is missing; the message says what to do.
    """
    device = placement.torch_device(folder, devices, maker)
    if device is None or (missing := missing_for(device)) is None:
        return device
    if placement.insists:
        raise ValueError(
            f"{missing}: run `pip install '.[serve,gpu]'` in a checkout of Vivavoce, or set the parameter device to cpu"
        )
    logger.warning("the GPU is left alone, and inference is slower: %s", missing)
    return None


def cuda_devices() -> int:
    """Ask the driver how many GPUs there are; 0 where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def missing_for(device: str) -> str | None:
    """Return what is missing to compute on a device, or None. Imports PyTorch.

    Args:
        device: PyTorch's name of it.
    """
    try:
        torch, _ = (importlib.import_module(name) for name in ("torch", "safetensors"))
    except (ImportError, OSError) as error:
        return f"PyTorch or safetensors cannot be imported ({error})"
    return None if device == "cpu" or torch.cuda.is_available() else f"PyTorch {torch.__version__} can use no GPU here"
