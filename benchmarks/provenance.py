"""Where and when a result was measured, and the file that keeps it."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULTS = Path(__file__).parent / "results"


def keep(path: Path, command: str, found: Mapping[str, object]) -> str:
    """Writes a result to ``path`` with command, date, commit and machine; returns the text.

    What lay there stays until all of it is written.
    """
    text = json.dumps(provenance(command) | dict(found), indent=2)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)
    return text


def provenance(command: str) -> dict[str, object]:
    """Tells with which command, when, from which commit and on which machine something is measured."""
    return {
        "command": command,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": _commit(),
        "machine": machine(),
    }


def _commit() -> str:
    """Names the commit; a copy without its history has none."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> str:
    """Names this machine by its cores and its system."""
    return f"{os.cpu_count()} x {_cpu_model()}, {platform.system()}"


def _cpu_model() -> str:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found[1] if found else platform.machine()
