"""File names as they can be told to others."""

from __future__ import annotations


def in_unicode(name: str) -> str:
    """Return a file's name with a "?" for what is not UTF-8 in it, which neither JSON nor a request can hold."""
    return name.encode(errors="replace").decode()
