"""Spelling for comparison: letters and digits in lower case, single spaces.

Recognizers write capitals and punctuation as they see fit, so neither may decide whether a phrase was said.
"""

from __future__ import annotations

import unicodedata

SPACE = 0x20
MARK = "\N{LOWER ONE EIGHTH BLOCK}"
"""What tokens have in the place of a space."""

_DASH = "Pd"
_WORD_CATEGORIES = "LMN"


def spell(text: str) -> bytes:
    """Return letters and digits of ``text`` in lower case; separators as spaces."""
    return "".join(map(_spell_character, text)).encode()


def spell_piece(piece: bytes) -> bytes:
    """Spell a token; one that is only a part of a character stays as it is."""
    try:
        return spell(piece.decode())
    except UnicodeDecodeError:
        return piece


def words(text: str) -> list[str]:
    """Return the words of ``text`` that hold a letter or a digit."""
    spaced = "".join(" " if _spell_character(character) == " " else character for character in text)
    return [word for word in spaced.split() if spell(word)]


def _spell_character(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] in _WORD_CATEGORIES:
        return character.lower()
    return " " if character.isspace() or category == _DASH or character in f"/_{MARK}" else ""
