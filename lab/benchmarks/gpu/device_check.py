"""Names the device that is measured, and says what is missing where it cannot be."""

from __future__ import annotations

import importlib.util
import platform

from benchmarks.provenance import machine


class DeviceError(RuntimeError):
    """This machine cannot run the benchmark; the message says what to do."""


def describe_device(device: str) -> dict[str, object]:
    """Names device, driver and versions.

    Args:
        device: of PyTorch.

    Raises:
        DeviceError: PyTorch is not installed, or has no such device.
    """
    if not importlib.util.find_spec("torch"):
        raise DeviceError("PyTorch is not installed: run `pip install '.[serve,gpu]' './lab[bench]'` in the checkout")
    import torch  # noqa: PLC0415 - it may be missing

    found: dict[str, object] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton_language": _version("triton"),
        "cpu": machine(),
        "gpu": None,
    }
    if device == "cpu":
        return found
    if not torch.cuda.is_available():
        raise DeviceError("PyTorch sees no GPU here: run this on a machine with one, or try it out with --dry-run")
    properties = torch.cuda.get_device_properties(torch.device(device))
    return found | {
        "gpu": properties.name,
        "memory_gib": round(properties.total_memory / 2**30, 1),
        "multiprocessors": properties.multi_processor_count,
        "cuda": torch.version.cuda,
    }


def _version(package: str) -> str | None:
    if not importlib.util.find_spec(package):
        return None
    return str(importlib.import_module(package).__version__)
