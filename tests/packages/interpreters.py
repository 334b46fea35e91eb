"""Other versions of Python on this machine, and environments for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def interpreter(version: str) -> Path:
    """Finds an interpreter of this version, on the path or among pyenv's; skips the test where there is none."""
    found = shutil.which(f"python{version}")
    folders = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*"))
    candidates = [Path(found)] if found else []
    candidates += [folder / "bin" / f"python{version}" for folder in folders]
    for candidate in candidates:
        # What pyenv puts on the path may refuse to run.
        if subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    pytest.skip(f"there is no Python {version} on this machine")


def make_environment(folder: Path, version: str, *wanted: str | Path) -> Path:
    """Installs packages, named as for `pip install`, into a new environment; returns its interpreter."""
    uv("venv", "--quiet", "--python", interpreter(version), folder)
    python = folder / "bin" / "python"
    uv("pip", "install", "--quiet", "--python", python, *wanted)
    return python


def uv(*arguments: str | Path) -> str:
    return run(Path(sys.executable).with_name("uv"), *arguments)


def run(*command: str | Path) -> str:
    """Runs a command outside of our own environment; returns what it writes to stdout."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"
    return done.stdout
