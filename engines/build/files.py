"""Files and folders that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def whole_directory(target: Path) -> Iterator[Path]:
    """Gives an empty sibling of ``target`` to fill, which takes its place when the body has ended without an error.

    What was at ``target`` before goes then, and stays when the body fails.
    """
    made = _make_parents(target)
    sibling = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    sibling.chmod(0o755)
    try:
        yield sibling
        if target.exists():
            before = sibling.with_name(f"{sibling.name}.before")
            target.rename(before)
            sibling.rename(target)
            shutil.rmtree(before)
        else:
            sibling.rename(target)
    except BaseException:
        shutil.rmtree(sibling, ignore_errors=True)
        for directory in made:
            with contextlib.suppress(OSError):
                directory.rmdir()
        raise


def write_whole(target: Path, text: str) -> None:
    """Writes a UTF-8 file in one step: readers see the old text or the new one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    sibling = target.with_name(f".{target.name}.new")
    sibling.write_text(text, encoding="utf-8")
    sibling.replace(target)


def _make_parents(target: Path) -> list[Path]:
    """Makes the folders above ``target``; returns those that were not there, the innermost first."""
    missing = [directory for directory in target.parents if not directory.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    return missing
