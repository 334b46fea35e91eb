"""The Triton of the integration tests, for these too."""

from __future__ import annotations

from tests.integration.conftest import triton_address

__all__ = ["triton_address"]
