"""Stems of English words: "deliver" of "delivered"."""

from __future__ import annotations

_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ings", ""),
    ("ing", ""),
    ("ied", "y"),
    ("ed", ""),
    ("er", ""),
    ("es", "e"),
    ("s", ""),
    ("ly", ""),
    ("ment", ""),
    ("ation", ""),
)  # fmt: skip


def stem(word: str) -> str:
    """Return a lower-case word without its ending."""
    word = word.removesuffix("'s")
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + instead
            break
    word = word[:-1] if word.endswith("e") and len(word) > 4 else word
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
