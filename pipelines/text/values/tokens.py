"""Words, figures and signs of a text, with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_TOKEN = re.compile(
    r"\d{4}-\d{2}-\d{2}(?!\d)"
    r"|\d{1,2}/\d{1,2}/\d{2,4}(?!\d)"
    r"|\d{1,2}/\d{1,2}(?![\d/])"
    r"|\d{1,2}:\d{2}(?::\d{2})?(?!\d)"
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)"
    r"|\d+,\d{2}(?=\s*(?:\u20ac|euros?\b|eur\b))"
    r"|\d+\.\d+(?!\.?\d)"
    r"|\d+(?:st|nd|rd|th)\b"
    r"|\d+"
    r"|[ap]\.\s?m\.?(?![^\W\d_])"
    r"|to-(?:day|morrow|night)\b"
    r"|[^\W\d_]+(?:['\u2019][^\W\d_]+)*"
    r"|[^\s\w]",
    re.IGNORECASE,
)
_SPELLINGS = {
    "a.m": "am",
    "p.m": "pm",
    "oclock": "o'clock",
    "noontime": "noon",
    "midday": "noon",
    "centigrade": "celsius",
    # As recognizers write that have learned from old books.
    "to-day": "today",
    "to-morrow": "tomorrow",
    "to-night": "tonight",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A word in lower case, a figure or a sign.

    Attributes:
        text: what it is.
        start: first code point in the text.
        end: one past the last code point.
        is_glued: whether it follows the token before it without a space.
    """

    text: str
    start: int
    end: int
    is_glued: bool = False


class Tokens:
    """The tokens of one text; a place behind the last holds an empty word.

    Attributes:
        words: the words, figures and signs, in lower case.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[Token] = []
        for match in _TOKEN.finditer(text):
            found = match[0].lower().replace("\u2019", "'")
            if found[-1:] == "." and len(found) > 1:
                found = found[:-1]
            found = found.replace(" ", "")
            glued = bool(self._tokens) and self._tokens[-1].end == match.start()
            self._tokens.append(Token(_SPELLINGS.get(found, found), match.start(), match.end(), glued))

        self.words = [token.text for token in self._tokens]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Return where the tokens from ``first`` to before ``end`` stand."""
        return self._tokens[first].start, self._tokens[end - 1].end

    def is_glued(self, at: int) -> bool:
        """Return whether the token directly follows the one before it."""
        return 0 <= at < len(self._tokens) and self._tokens[at].is_glued

    def have(self, at: int, *words: str) -> bool:
        """Return whether these words stand at a place."""
        return tuple(self.words[at : at + len(words)]) == words if at >= 0 else False

    def past_hyphen(self, at: int) -> int:
        """Return the place behind a joining hyphen, as in "half-past"."""
        return at + 1 if self[at] == "-" and self.is_glued(at) and self.is_glued(at + 1) else at

    def skip(self, at: int, words: Collection[str]) -> int:
        """Return the first place from ``at`` on that holds none of ``words``."""
        while self[at] in words and at < len(self):
            at += 1
        return at
