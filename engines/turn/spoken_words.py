"""Last words of a text in lower case, as the text network reads them."""

from __future__ import annotations

import re

MAX_WORDS = 30
"""Words that are read; what was said before them tells nothing of whether a sentence is over."""

_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_WORD = re.compile(r"[^\W_]+(?:['.:,/-][^\W_]+)*%?")


def spoken_words(text: str) -> list[str]:
    """Split a text into its last words; marks inside of words stay."""
    return _WORD.findall(text.lower().replace(_APOSTROPHE, "'"))[-MAX_WORDS:]
