"""The service and the real Triton of the integration tests, for these too."""

from __future__ import annotations

from tests.integration.conftest import (
    full_service,
    home_assistant,
    museum,
    serve_options,
    traces,
    triton,
    triton_address,
)

__all__ = ["full_service", "home_assistant", "museum", "serve_options", "traces", "triton", "triton_address"]
