from __future__ import annotations

from tests.integration.conftest import (
    full_service,
    home_assistant,
    http_url,
    museum,
    serve_options,
    server_address,
    traces,
    triton,
    triton_address,
)

__all__ = [
    "full_service",
    "home_assistant",
    "http_url",
    "museum",
    "serve_options",
    "server_address",
    "traces",
    "triton",
    "triton_address",
]
