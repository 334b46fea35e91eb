"""Reads HTML: what a page says, without its menus, scripts and forms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from pipelines.knowledge.reading.decoding import decode
from pipelines.knowledge.reading.parsed import Block, Outline, ParsedDocument, one_line, table_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset=["']?([\w.:-]{1,40})""", re.IGNORECASE)
_DECLARED_WITHIN = 4096
"""Bytes of a page in which it may name its encoding."""
_UNREAD = (
    *("script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "audio", "video"),
    *("nav", "aside", "form", "button", "select", "dialog", "head", "[hidden]", "[aria-hidden=true]"),
    *("[role=navigation]", "[role=banner]", "[role=contentinfo]", "[role=search]", "body > header", "body > footer"),
)
"""Selectors of elements that are no part of what a page says."""
_MAIN = ("main", "[role=main]", "article")
"""Selectors of the element that holds what a page says, where there is exactly one."""
_INLINE = frozenset(
    (
        *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd"),
        *("label", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
_BREAK = "\0"
"""Line break, which no decoded text holds."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def read_html(data: bytes) -> ParsedDocument:
    """Read an HTML file; see ``pipelines.knowledge.reading.formats.read``."""
    declared = _CHARSET.search(data[:_DECLARED_WITHIN])
    return read_html_text(decode(data, declared[1].decode("ascii") if declared else None))


def read_html_text(text: str) -> ParsedDocument:
    """Read a page, or a part of one."""
    tree = LexborHTMLParser(text)
    titled = tree.css_first("title", None)
    title = one_line(titled.text()) if titled else ""
    walk = _Walk(frozenset(node.mem_id for node in tree.css(", ".join(_UNREAD))))
    content = _content(tree)
    blocks = tuple(walk.blocks(content)) if content else ()
    return ParsedDocument(title or walk.first_heading, blocks)


def _content(tree: LexborHTMLParser) -> LexborNode | None:
    for selector in _MAIN:
        if len(found := tree.css(selector)) == 1:
            return found[0]
    return tree.body


class _Walk:
    """Traversal of a page in reading order, joining lines and paragraphs.

    Args:
        unread: ids of the nodes that are left out, with all below them.
    """

    def __init__(self, unread: frozenset[int]) -> None:
        self.first_heading = ""
        self._unread = unread
        self._outline = Outline()
        self._text: list[str] = []

    def blocks(self, root: LexborNode) -> Iterator[Block]:
        """Yield the blocks below a node, without recursion."""
        stack: list[tuple[LexborNode, bool]] = [(root, False)]
        while stack:
            node, is_end = stack.pop()
            tag = node.tag or ""
            if node.mem_id in self._unread:
                continue
            if is_end:
                yield from self._flush()
            elif node.is_text_node:
                self._text.append(node.text_content or "")
            elif tag == "br":
                self._text.append(_BREAK)
            elif tag in _HEADINGS:
                yield from self._flush()
                self._outline.enter(_HEADINGS[tag], node.text())
                self.first_heading = self.first_heading or one_line(node.text())
            elif tag == "table" and not node.css("table table") and (rows := _rows(node)):
                yield from self._flush()
                yield Block("\n".join(rows), self._outline.path)
            elif tag == "pre":
                yield from self._flush()
                if text := node.text().strip():
                    yield Block(text, self._outline.path)
            elif node.is_element_node:
                if tag not in _INLINE:
                    yield from self._flush()
                    stack.append((node, True))
                children = list(node.iter(include_text=True))
                stack.extend((child, False) for child in reversed(children))
        yield from self._flush()

    def _flush(self) -> Iterator[Block]:
        lines = [one_line(line) for line in "".join(self._text).split(_BREAK)]
        self._text = []
        if text := "\n".join(line for line in lines if line):
            yield Block(text, self._outline.path)


def _rows(table: LexborNode) -> list[str]:
    """Return the rows of a table of several columns; none for layout."""
    rows = [[cell.text() for cell in row.css("th, td")] for row in table.css("tr")]
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    return [table_row(row) for row in rows] if max(map(len, rows), default=0) > 1 else []
