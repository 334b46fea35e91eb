"""Virtual environments for other people's clients: their packages clash with ours, and with one another's."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parents[2] / ".venv" / "integrations"
"""Goes with the project's own environment, as `make clean` removes that."""
INSTALL_SECONDS = 600
RUN_SECONDS = 120
OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "HF_HUB_OFFLINE", "DO_NOT_TRACK")
"""Environment variables by which packages are told to ask the network for nothing."""


def run_client(script: Path, *arguments: str) -> dict[str, Any]:
    """Runs a script with the packages that lie beside it, and returns the JSON object on its last line.

    Args:
        script: The script; `requirements.txt` beside it names its packages.
        arguments: What follows the script's name.

    Raises:
        AssertionError: The script failed; the text holds the end of what it said.
    """
    output = run_alone(python_for(script.parent), str(script), *arguments)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def run_alone(python: Path, *arguments: str, folder: Path | None = None) -> str:
    """Runs Python where it asks the network for nothing, and finds neither somebody's keys nor our modules.

    Args:
        python: The interpreter.
        arguments: A script or options, and what follows.
        folder: Where it runs; None means here.

    Returns:
        What it said on stdout.

    Raises:
        AssertionError: It failed; the text holds the end of what it said.
    """
    environment = {name: value for name, value in os.environ.items() if name not in {"NVIDIA_API_KEY", "PYTHONPATH"}}
    done = subprocess.run(
        [str(python), "-I", *arguments],
        check=False,
        cwd=folder,
        env=environment | dict.fromkeys(OFFLINE, "True"),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    said = f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert done.returncode == 0, f"{arguments} exited with {done.returncode}:\n{said}"
    return done.stdout


def python_for(client: Path) -> Path:
    """Returns the interpreter that has a client's packages; they are installed anew when their list changes."""
    requirements = client / "requirements.txt"
    content = requirements.read_bytes() + sys.version.encode()
    environment = CACHE / f"{client.name}-{hashlib.sha256(content).hexdigest()[:12]}"
    python, ready = environment / "bin" / "python", environment / "ready"
    if not ready.exists():
        for outdated in CACHE.glob(f"{client.name}-*"):
            shutil.rmtree(outdated)
        _uv("venv", "--python", sys.executable, str(environment))
        _uv("pip", "install", "--python", str(python), "--requirements", str(requirements))
        ready.touch()
    return python


def _uv(*arguments: str) -> None:
    command = [str(Path(sys.executable).with_name("uv")), "--quiet", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stderr[-4000:]}"
