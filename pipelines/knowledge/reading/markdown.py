"""Reads Markdown (CommonMark with tables)."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from pipelines.knowledge.reading.decoding import decode
from pipelines.knowledge.reading.html import read_html_text
from pipelines.knowledge.reading.parsed import Block, Outline, ParsedDocument, one_line, table_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)
_TAG = re.compile(r"<[^<>]*>")
_BREAKS = {"softbreak": " ", "hardbreak": "\n"}


def read_markdown(data: bytes) -> ParsedDocument:
    """Read a Markdown file; see ``pipelines.knowledge.reading.formats.read``."""
    text = decode(data).replace("\r\n", "\n").lstrip("\n")
    title = ""
    if matter := _FRONT_MATTER.match(text):
        text = text[matter.end() :]
        if named := _TITLE.search(matter[1]):
            title = one_line(named[1].strip().strip("\"'"))
    # Nesting beyond the parser's default of 20 adds nothing to the text and costs time.
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    blocks = tuple(_blocks(tokens))
    first = next((token for token in itertools.pairwise(tokens) if token[0].tag == "h1"), None)
    return ParsedDocument(title or (one_line(_inline(first[1])) if first else ""), blocks)


def _blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    outline = Outline()
    rows: list[str] = []
    cells: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before is not None:
            text = _inline(token)
            if before.type == "heading_open":
                outline.enter(int(before.tag[1:]), text)
            elif before.type in ("th_open", "td_open"):
                cells.append(text)
            elif text.strip():
                yield Block(text.strip(), outline.path)
        elif token.type == "tr_close":
            rows.append(table_row(cells))
            cells = []
        elif token.type == "table_close":
            yield Block("\n".join(rows), outline.path)
            rows = []
        elif token.type in ("fence", "code_block") and token.content.strip():
            yield Block(token.content.rstrip(), outline.path)
        elif token.type == "html_block":
            for block in read_html_text(token.content).blocks:
                yield Block(block.text, outline.path)


def _inline(token: Token) -> str:
    """Return the text of a line without its marks; of a picture what stands for it."""
    parts = []
    for child in token.children or ():
        if child.type in _BREAKS:
            parts.append(_BREAKS[child.type])
        elif child.type == "image":
            parts.append(_inline(child))
        elif child.type == "html_inline":
            parts.append(_TAG.sub("", child.content))
        else:
            parts.append(child.content)
    return "".join(parts)
