from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lab.tests.tiny_bert import write_tiny_bert


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("base"))


@pytest.fixture
def other_base(tiny_base: Path, tmp_path: Path) -> Path:
    """Another size, and a tokenizer in other bytes."""
    folder = Path(shutil.copytree(tiny_base, tmp_path / "other"))
    for name, more in (("config.json", {"hidden_size": 64}), ("tokenizer.json", {})):
        fields = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(fields | more, indent=3))
    return folder
