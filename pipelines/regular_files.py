"""Safe reading of foreign folders: no pipes, devices or links that lead out."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class UnfitFileError(Exception):
    """A file is not read; the message says why, and what to do."""


def read_regular(path: Path, max_bytes: int, within: Path | None = None) -> bytes:
    """Read a file, one byte more than it may have where it is longer.

    Args:
        path: of the file.
        max_bytes: that it may have.
        within: folder that links must not lead out of; None: they may lead anywhere.

    Raises:
        OSError: it cannot be opened.
        UnfitFileError: it is a pipe or a device, or a link that leads out.
    """
    real = path.resolve()
    if within is not None and not real.is_relative_to(within.resolve()):
        raise UnfitFileError("it is a link that leads out of the folder: put a copy of the file in its place")
    # A pipe is opened without waiting for somebody to write; a link that was put here since is not followed.
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnfitFileError("it is no file but a pipe, a device or a folder: take it away")
        return file.read(max_bytes + 1)
