from __future__ import annotations

from tests.unit.conftest import clock, free_address

__all__ = ["clock", "free_address"]
