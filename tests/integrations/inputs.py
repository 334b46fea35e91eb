"""Whether what other people's clients meet has changed since all of their tests passed.

``python -m tests.integrations.inputs passed`` notes the state of the inputs beside this file, as
``make test-integrations`` does at its end; ``… unchanged`` exits with 0 if they are still the same, and with 1 if those
tests are to run again.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PASSED = Path(__file__).with_name("passed.sha256")
INPUTS = (
    "protos",
    "service",
    "pipelines",
    "clients/vivavoce",
    "clients/pyproject.toml",
    "tests/integrations",
    "docs/integrations.md",
    "docs/http.md",
    "docs/riva.md",
    "pyproject.toml",
    "constraints.txt",
)
"""Files and folders of the project that other people's clients depend on, or their tests.

Engines are none of them: what is recognized and understood reaches every door by the same messages, of which
``tests/integration`` judges the words.
"""


def fingerprint(root: Path = ROOT) -> str:
    """Returns a SHA-256 over the names and the content of all inputs, in hexadecimal."""
    digest = hashlib.sha256()
    for file in sorted(_files(root)):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _files(root: Path) -> set[Path]:
    roots = [root / name for name in INPUTS]
    found = {file for folder in roots for file in folder.rglob("*")} | set(roots)
    return {
        file for file in found if file.is_file() and not _is_built(file.relative_to(root)) and file.name != PASSED.name
    }


def _is_built(file: Path) -> bool:
    """Whether a file, given below the root, is made by Python, an installer or `make setup` from other inputs."""
    if file.suffix in {".pyc", ".ort"} or "__pycache__" in file.parts or file.parent.name.endswith(".egg-info"):
        return True
    return any(part.startswith(("moonshine-", "minilm", "smart-turn", ".")) for part in file.parts)


def main(word: str) -> int:
    """Notes (``passed``) or compares (``unchanged``) the state of the inputs; returns the exit status."""
    if word == "passed":
        PASSED.write_text(fingerprint() + "\n", encoding="ascii")
        return 0
    return int(not PASSED.exists() or PASSED.read_text(encoding="ascii").strip() != fingerprint())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
