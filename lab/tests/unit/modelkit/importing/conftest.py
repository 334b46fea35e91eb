from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _other_makers_warnings() -> Iterator[None]:
    """transformers and the exporter warn of their own plans, which are no errors of ours."""
    with warnings.catch_warnings():
        for maker in ("torch", "transformers", "onnx", "onnxruntime", "huggingface_hub"):
            warnings.filterwarnings("ignore", module=maker)
        yield
