"""Reads plain text: paragraphs stand between empty lines."""

from __future__ import annotations

import re

from pipelines.knowledge.reading.decoding import decode
from pipelines.knowledge.reading.parsed import Block, ParsedDocument

_EMPTY_LINES = re.compile(r"\n[ \t\f]*\n\s*")
_UNDERLINE = re.compile(r"(=|-){3,}")
MAX_TITLE_CHARACTERS = 100
"""Longest first line that is taken for the title, where an empty line follows."""


def read_plain(data: bytes) -> ParsedDocument:
    """Read a text file; see ``pipelines.knowledge.reading.formats.read``."""
    text = decode(data).replace("\r\n", "\n").replace("\r", "\n").strip()
    paragraphs = [paragraph for paragraph in _EMPTY_LINES.split(text) if paragraph.strip()]
    title = _title(paragraphs)
    return ParsedDocument(title, tuple(Block(_paragraph(text)) for text in paragraphs[1 if title else 0 :]))


def _title(paragraphs: list[str]) -> str:
    """Return the first line if it looks like a title, else nothing."""
    if len(paragraphs) < 2:
        return ""
    lines = [line.strip() for line in paragraphs[0].split("\n")]
    if len(lines) == 2 and _UNDERLINE.fullmatch(lines[1]):
        del lines[1]
    alone = len(lines) == 1 and len(lines[0]) <= MAX_TITLE_CHARACTERS and lines[0][-1] not in ".!?:;,"
    return lines[0] if alone else ""


def _paragraph(text: str) -> str:
    """Join lines that were broken to fit a width; lines of tables and lists stay."""
    lines = [line.rstrip() for line in text.split("\n")]
    if any("\t" in line or "|" in line for line in lines):
        return "\n".join(line.strip() for line in lines)
    joined = lines[0].strip()
    for line in lines[1:]:
        joined += ("\n" if re.match(r"\s*([-*•]|\d{1,3}[.)])\s", line) else " ") + line.strip()
    return joined
