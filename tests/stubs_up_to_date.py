"""Fails if the committed stubs are not what ``protos/`` generates: ``make check`` runs it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from protos.generate import ROOT, generate


def differences() -> list[str]:
    """Generates the stubs anew and returns the names of those that differ."""
    with tempfile.TemporaryDirectory() as directory:
        fresh = {stub.relative_to(directory): stub.read_text() for stub in generate(Path(directory))}
    return [
        str(name) for name, text in fresh.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != text
    ]


if __name__ == "__main__":
    found = differences()
    for name in found:
        sys.stderr.write(f"{name} is not what protos/ generates: run make protos\n")
    sys.exit(1 if found else 0)
