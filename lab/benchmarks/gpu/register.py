"""Makes our commands known where nothing is installed: ``python -m benchmarks.gpu.register FOLDER``.

The command ``vivavoce`` finds them as entry points, which Python looks up in the metadata of distributions.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def register(folder: Path) -> None:
    """Writes the metadata of the distributions of the server and of the laboratory.

    Args:
        folder: Where Python finds packages.
    """
    for file in ("pyproject.toml", "lab/pyproject.toml"):
        _register(tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"], folder)


def _register(project: dict[str, Any], folder: Path) -> None:
    name, version = project["name"], project["version"]
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    groups = project["entry-points"].items()
    lines = [line for group, entries in groups for line in (f"[{group}]", *map(" = ".join, entries.items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    register(Path(sys.argv[1]))
