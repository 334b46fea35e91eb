from __future__ import annotations

from tests.unit.clients.conftest import service

__all__ = ["service"]
