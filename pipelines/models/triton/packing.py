"""Packing of inputs of Triton's client, and reading of what all its results hold."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import tritonclient.grpc.aio as triton

from pipelines.data.recognition import Timing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def tensor(name: str, values: npt.NDArray[np.generic], datatype: str) -> triton.InferInput:
    """Return an input of a request."""
    packed = triton.InferInput(name, values.shape, datatype)
    packed.set_data_from_numpy(values)
    return packed


def timing(began: float, result: triton.InferResult) -> Timing:
    """Split the time since ``began`` into the engine's own work and all the rest."""
    total = time.monotonic() - began
    compute = min(total, float(result.as_numpy("COMPUTE_MS").reshape(-1)[0]) / 1000)
    return Timing(total - compute, compute)
