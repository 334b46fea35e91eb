"""Masks profane words but for their first letter."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glin_profanity import Filter


def masked(text: str) -> str:
    """Returns an English ``text`` with each profane word masked: "f***". The words are those of ``glin-profanity``."""
    found = _filter().check_profanity(text).get("profane_words") or []
    for word in sorted(found, key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(word)}\b", lambda match: _mask(match[0]), text, flags=re.IGNORECASE)
    return text


@functools.cache
def _filter() -> Filter:
    # The dictionary is read for those only who ask for the filter.
    from glin_profanity import Filter  # noqa: PLC0415

    return Filter({"languages": ["english"]})


def _mask(word: str) -> str:
    return word[0] + "*" * (len(word) - 1)
