"""The tables of abbreviations, units, currencies and signs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_TABLES: dict[str, Any] = json.loads((Path(__file__).parent / "words.json").read_text(encoding="utf-8"))

TITLES: dict[str, str] = _TABLES["titles"]
"""Spoken in full before a name."""
ABBREVIATIONS: dict[str, str] = _TABLES["abbreviations"]
UNITS: dict[str, tuple[str, str]] = _TABLES["units"]
"""One of them, several of them."""
CURRENCIES: dict[str, tuple[str, str, str, str]] = _TABLES["currencies"]
"""One, several, one hundredth, several hundredths; the last two are "" where there are none."""
SYMBOLS: dict[str, str] = _TABLES["symbols"]


def alternatives(words: Iterable[str]) -> str:
    """Return a pattern for one of the words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
