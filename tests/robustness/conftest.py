"""The real Triton of the integration tests, for these too."""

from __future__ import annotations

from tests.integration.conftest import triton, triton_address

__all__ = ["triton", "triton_address"]
