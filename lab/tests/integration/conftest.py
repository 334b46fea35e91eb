from __future__ import annotations

from tests.integration.conftest import http_url, server_address, service, triton, triton_address

__all__ = ["http_url", "server_address", "service", "triton", "triton_address"]
