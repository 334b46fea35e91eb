"""A skip that nobody expects fails the run; a listed one does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("reason", "flags", "status"),
    [
        ("there is no GPU here", ["--strict-skips"], 0),
        ("no time today", ["--strict-skips"], 1),
        ("no time today", ["--strict-skips", "-n", "1"], 1),
        ("no time today", [], 0),
    ],
)
def test_a_skip_for_no_listed_reason_fails_the_run(tmp_path: Path, reason: str, flags: list[str], status: int):
    (tmp_path / "test_it.py").write_text(f"import pytest\n\ndef test_it():\n    pytest.skip({reason!r})\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.skips", "-q", *flags, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout
    assert ("skipped for reasons that tests/skips.py does not list" in done.stdout) == bool(status)
