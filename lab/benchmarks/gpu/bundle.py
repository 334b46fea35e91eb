"""Packs Triton for a machine that can fetch nothing: ``python -m benchmarks.gpu.bundle FILE.tar.xz --python 3.12``.

The wheel ``nvidia-pytriton`` serves six versions of Python. What one of them needs is packed: half of the
wheel. ``bare_machine.sh`` unpacks it.
"""

from __future__ import annotations

import argparse
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from service.triton.installation import TritonInstallation

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHERS = "libpython"
"""Libraries of one version of Python: the machine has that of its own."""


def bundle(target: Path, python: str) -> None:
    """Writes the archive.

    Args:
        target: of it.
        python: version of the machine's Python, such as ``3.12``.

    Raises:
        FileNotFoundError: Triton has no models for that Python.
    """
    installation = TritonInstallation.find()
    packages = installation.libraries[0].parent
    stub = installation.python_stub.parents[1] / python
    if not stub.is_dir():
        known = ", ".join(sorted(path.name for path in stub.parent.iterdir()))
        raise FileNotFoundError(f"this Triton runs no models on Python {python}: take one of {known}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w:xz") as archive:
        for file in files(installation, stub):
            archive.add(file, file.relative_to(packages))


def files(installation: TritonInstallation, stub: Path) -> Iterator[Path]:
    """Lists what is packed.

    Args:
        installation: where it lies.
        stub: folder of the executable that runs models on the machine's Python.
    """
    yield installation.server.parents[2] / "__init__.py"
    yield installation.server
    folders = (installation.python_backend, stub, installation.libraries[0])
    for file in (file for folder in folders for file in sorted(folder.iterdir())):
        if file.is_file() and not file.name.startswith(_OTHERS):
            yield file


def main() -> None:
    """Packs this environment's Triton for another machine."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.bundle", description=main.__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--python", default="3.12", help="the machine's Python [default: 3.12]")
    given = parser.parse_args()
    try:
        bundle(given.target, given.python)
    except FileNotFoundError as error:
        parser.exit(1, f"benchmarks.gpu.bundle: {error}\n")


if __name__ == "__main__":
    main()
