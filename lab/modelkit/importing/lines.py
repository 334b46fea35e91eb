"""Splits texts of one item a line."""

from __future__ import annotations


def split_lines(text: str) -> list[str]:
    r"""Splits a text at ``\n`` and ``\r\n``, and at nothing else.

    ``str.splitlines`` cuts at U+2028 and nine other characters too. Vocabularies hold these as tokens, and one cut more
    would shift the ids of all tokens after it.
    """
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
