from __future__ import annotations

import os

from engines.gpu.device import cuda_devices
from tests.conftest import pytest_configure

__all__ = ["pytest_configure"]

if not cuda_devices():
    # Kernels of the Triton language run in its interpreter, for which it is asked before PyTorch imports it.
    os.environ["TRITON_INTERPRET"] = "1"

pytest_plugins = ["tests.skips", "tests.scheduling"]
