"""Packs arrays as inputs of Triton's client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tritonclient.grpc.aio as triton

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def tensor(name: str, values: npt.NDArray[np.generic], datatype: str) -> triton.InferInput:
    """Returns an input of a request."""
    packed = triton.InferInput(name, values.shape, datatype)
    packed.set_data_from_numpy(values)
    return packed
