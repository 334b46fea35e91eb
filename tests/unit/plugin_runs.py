"""Runs of pytest with one plugin of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pytest_with(plugin: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs the tests of a folder; of the installed plugins only those that the options name."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", plugin, "-q", *options, str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
