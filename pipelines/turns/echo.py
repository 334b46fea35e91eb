"""Echo: the service's own voice in the caller's microphone."""

from __future__ import annotations

import re

from rapidfuzz import fuzz

MIN_WORDS = 2
"""One word may be chosen from what is said: "small, medium, or large?" - "Medium." """
MIN_RATIO = 85.0
"""Least similarity, 0 to 100, of a text to the part of the reply that it is most like."""

WORDS_BEFORE, WORDS_AFTER = 6, 4
"""Words of a reply around the place where it was heard to: an echo repeats those, and a caller seldom does."""


def words_around(text: str, heard: int) -> str:
    """Return the words of a reply's text around the place up to which it was heard.

    Args:
        text: of the reply.
        heard: how many of its words were.
    """
    return " ".join(text.split()[max(0, heard - WORDS_BEFORE) : heard + WORDS_AFTER])


def is_echo(text: str, said: str) -> bool:
    """Return whether a text repeats what was being said.

    Args:
        text: what was recognized.
        said: words of the reply at that time; "" where nothing was said.
    """
    words = words_of(text)
    return len(words) >= MIN_WORDS and fuzz.partial_ratio(" ".join(words), " ".join(words_of(said))) >= MIN_RATIO


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
