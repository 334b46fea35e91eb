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
_INSTRUCTIONS = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx_vnni": "AVX-VNNI",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512_bf16": "AVX-512 BF16",
    "amx_int8": "AMX",
}
"""Flags of /proc/cpuinfo that decide how fast networks are computed."""


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
    """Names this machine by its cores, what they multiply with, and its system.

    Hosts give one name to processors of several generations, of which one computes in 8 bits several times as fast as
    another.
    """
    found = _cpu_information()
    model = re.search(r"^model name\s*: (.*)$", found, re.MULTILINE)
    flags = re.search(r"^flags\s*: (.*)$", found, re.MULTILINE)
    has = set(flags[1].split()) if flags else set()
    instructions = ", ".join(name for flag, name in _INSTRUCTIONS.items() if flag in has)
    processor = model[1] if model else platform.machine()
    return f"{os.cpu_count()} x {processor}{f' ({instructions})' if instructions else ''}, {platform.system()}"


def _cpu_information() -> str:
    """Reads what Linux says of the processors; other systems say nothing there."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
