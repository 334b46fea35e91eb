from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tiny_bert import write_tiny_bert

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("base"))
