"""Punctuation that a text cannot have: doubled marks, and a comma where it ends."""

from __future__ import annotations

import re

_DOUBLED = re.compile(r"([,;:?!])\1+|(?<!\.)\.\.(?!\.)|[,;:]+(?=[.?!])|(?<=[.?!])[,;:]+|(?<=,)[;:]+|(?<=[;:]),+")
_OPEN_END = " ,;:-\N{EN DASH}\N{EM DASH}"


def without_doubled_marks(text: str) -> str:
    """Return ``text`` with one mark where two stand; an ellipsis stays."""
    return _DOUBLED.sub(lambda found: found[1] or ("." if found[0] == ".." else ""), text)


def without_open_end(text: str) -> str:
    """Return ``text`` without marks at its end that say that something follows."""
    return text.rstrip(_OPEN_END)
