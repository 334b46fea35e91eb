"""Whole tokens in answers: "support@example.com", "-4.5 °C", "(030) 1234-5678"."""

from __future__ import annotations

import re

_WHOLE = re.compile(
    r"https?://[^\s<>\"]*[^\s<>\".,;:!?)]"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<!\w)\+?(?:\d{1,4}[\s./-]?)?\(\d{2,5}\)[\s/-]?\d{2,}(?:[\s/-]\d{2,})*"
    r"|(?<!\w)\+\d{1,3}(?:[\s/-]\d{2,})+"
    r"|(?<![\w-])\d{3}-\d{3}-\d{4}(?!\w)"
    r"|(?<![\w.,-])[$€£¥]?[-\u2212+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)*(?::\d{2})?(?:\s?(?:°\s?[CFK]?|%|‰)|\s[ap]\.m\.)?"
    r"|[\w-]+(?:[./\\][\w-]+)*\.[A-Za-z][A-Za-z0-9]{1,4}(?!\w)"
    r"|[^\W_]+(?:_[^\W_]+)+"
)
"""Tokens that are cut nowhere: links, addresses of mails, phone numbers, quantities with sign and unit, file names."""
_REACH = 100
"""Code points around an answer in which such a token may begin or end."""
_LONGEST = 300
"""Further code points without a space, as in links, before an end of an answer."""


def whole_tokens(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend an answer to whole tokens of these kinds."""
    return _token_around(text, start)[0], _token_around(text, end)[1]


def _token_around(text: str, at: int) -> tuple[int, int]:
    """Return the token that holds a place, or the place itself.

    It is looked for near the place alone: a word of 90,000 letters would be looked through from each of them.
    """
    window = max(0, at - _REACH)
    for _ in range(_LONGEST):
        if window and not text[window - 1].isspace():
            window -= 1
    tokens = _WHOLE.finditer(text, window, min(len(text), at + _REACH))
    return next((token.span() for token in tokens if token.start() < at < token.end()), (at, at))
