"""File systems that the harness of faults fills: small ones only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.robustness.harness import faults

if TYPE_CHECKING:
    from pathlib import Path


def test_a_large_file_system_is_never_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(faults, "MAX_FILLED_BYTES", 4_096)
    with pytest.raises(RuntimeError, match="too large"), faults.filled(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
