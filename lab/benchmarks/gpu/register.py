"""Makes the server's commands known where nothing is installed: ``python -m benchmarks.gpu.register FOLDER``.

The command ``vivavoce`` finds them as entry points, which Python looks up in the metadata of distributions.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def register(folder: Path) -> None:
    """Writes the metadata of the server's distribution.

    Args:
        folder: Where Python finds packages.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    groups = project["entry-points"].items()
    lines = [line for group, entries in groups for line in (f"[{group}]", *map(" = ".join, entries.items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    register(Path(sys.argv[1]))
