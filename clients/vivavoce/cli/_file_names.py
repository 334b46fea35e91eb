"""File names as they can be told to others."""

from __future__ import annotations


def in_unicode(name: str) -> str:
    """Return a file name as valid UTF-8, with a "?" for anything else."""
    return name.encode(errors="replace").decode()
