"""Text cleaning before synthesis: emoji, Markdown, other scripts."""

from __future__ import annotations

import re
import unicodedata

from anyascii import anyascii

from pipelines.errors import InvalidInputError

_SIGNS = {
    "“": '"',
    "”": '"',
    "„": '"',
    "‘": "'",
    "’": "'",
    "‐": "-",
    "\N{NON-BREAKING HYPHEN}": "-",
    "−": "-",
    "\N{NO-BREAK SPACE}": " ",
    "\N{NARROW NO-BREAK SPACE}": " ",
    "\N{THIN SPACE}": " ",
    "½": " 1/2",
    "¼": " 1/4",
    "¾": " 3/4",
    "⅓": " 1/3",
    "⅔": " 2/3",
    "©": " copyright ",
    "№": "number ",
    "×": " times ",
    "÷": " divided by ",
    "±": " plus or minus ",
    "≈": " about ",
    "≠": " is not ",
    "≤": " at most ",
    "≥": " at least ",
    "→": " to ",
}
_SPOKEN_SIGNS = frozenset("°²³€£¥₹₩¢§µ–—…")
"""Not of ASCII, and read by the rules of ``pipelines.speech.verbalizing``."""

_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]\(([^()\s]{1,1000})\)")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[*+-][ \t]+)", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:[-*_=|:][ \t]*){3,}$", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*_~])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=\S)(?:\*{1,3}|_{1,3}|~~)(?![\w*_~])")
_COLUMN = re.compile(r"[ \t]*\|[ \t]*")
_FACES = re.compile(r"(?<![\w<])<3+(?![\w.,]\d|\d)|(?<!\S)[:;=8xX]['^o-]?[()\[\]dDpP|/\\](?=\s|$)")
"""Signs that draw something: "<3", ":-)"."""
_SPACES = re.compile(r"[ \t\r\f\v]{2,}")
_BLANK_LINES = re.compile(r"\n[ \n]*\n")
_MARKS = re.compile(r"(?:([.!?…,;:])\s*){4,}")
"""Rows of marks, which would be thousands of empty sentences."""
_NOT_TEXT = frozenset(("Cc", "Cs", "Co", "Cn"))


def check_characters(text: str, field: str) -> None:
    """Raise InvalidInputError for characters that are no text, such as NUL."""
    for position, character in enumerate(text):
        if unicodedata.category(character) in _NOT_TEXT and character not in "\t\n\r":
            message = f"the text holds the character U+{ord(character):04X} at {position}, which is no text: remove it"
            raise InvalidInputError(field, "CONTROL_CHARACTER", message)


def clean(text: str) -> str:
    """Return a text in Latin letters, figures and readable signs."""
    latin = _in_latin(unicodedata.normalize("NFC", text))
    shorter = _BLANK_LINES.sub("\n\n", _SPACES.sub(" ", latin))
    return _MARKS.sub(r"\1 ", _without_markdown(shorter))


def is_speakable(text: str) -> bool:
    """Return whether there is a letter, a figure or a sign that is read."""
    return any(character.isalnum() or character in "%&@+=€£$¥₹₩¢§°" for character in text)


def _in_latin(text: str) -> str:
    if text.isascii():
        return text
    return "".join(map(_sign, text))


def _sign(character: str) -> str:
    if character.isascii() or character in _SPOKEN_SIGNS:
        return character
    if character in _SIGNS:
        return _SIGNS[character]
    kind = unicodedata.category(character)
    if kind in {"So", "Sk", "Cf", "Mn", "Me", "Sm"}:
        return " " if kind == "So" else ""
    if kind.startswith("Z"):
        return "\n\n" if kind in {"Zl", "Zp"} else " "
    return anyascii(character)


def _without_markdown(text: str) -> str:
    text = _FACES.sub("", _FENCE.sub("", text))
    text = _LINK.sub(r"\1", text)
    text = _RULE.sub("", text)
    text = _LINE_MARK.sub("", text)
    text = _EMPHASIS.sub("", text)
    return _COLUMN.sub(" ", text.replace("`", ""))
