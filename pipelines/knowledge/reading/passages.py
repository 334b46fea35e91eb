"""Cutting of documents into passages for search and answering."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipelines.knowledge.reading.parsed import Block, ParsedDocument

MAX_WORDS = 160
"""Words of a passage: about what the sentence embeddings read, whose rows end at 256 tokens."""
MAX_CHARACTERS = 1_600
"""Characters of a passage, for texts without spaces between words."""
OVERLAP_WORDS = 40
"""Words at the end of a piece of a long paragraph that the next one repeats: an answer may stand at the cut."""
_SENTENCE_END = re.compile("(?<=[.!?\u2026\u3002\uff01\uff1f])[\"'\u201d\u2019)\\]]*\\s+|\n")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document.

    Attributes:
        number: place in the document, from 1.
        text: of the passage.
        headings: titles of the sections that hold it, the outermost first.
        page: number of the page that it begins on, from 1; None: the format has no pages.
    """

    number: int
    text: str
    headings: tuple[str, ...] = ()
    page: int | None = None


def cut(document: ParsedDocument) -> list[Passage]:
    """Cut a document: short neighbours are joined, long paragraphs split."""
    passages: list[Passage] = []
    for group in _groups(document.blocks):
        first = group[0]
        for text in _pieces(_joined(group)):
            passages.append(Passage(len(passages) + 1, text, first.headings, first.page))
    return passages


def _groups(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield groups of neighbouring blocks that fit into a passage."""
    group: list[Block] = []
    for block in blocks:
        together = _joined((*group, block))
        if group and ((block.headings, block.page) != (group[0].headings, group[0].page) or not _fits(together)):
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _joined(blocks: Sequence[Block]) -> str:
    """Join blocks, with an empty line between two tables."""
    text = blocks[0].text
    for before, block in itertools.pairwise(blocks):
        are_tables = before.text.startswith("|") and block.text.startswith("|")
        text += ("\n\n" if are_tables else "\n") + block.text
    return text


def _pieces(text: str) -> Iterator[str]:
    """Yield a text whole if it fits, else in overlapping pieces of whole sentences."""
    if _fits(text):
        yield text
        return
    piece: list[str] = []
    fresh = 0
    for sentence in _sentences(text):
        if fresh and not _fits(" ".join((*piece, sentence))):
            yield " ".join(piece)
            piece, fresh = _tail(piece, sentence), 0
        piece.append(sentence)
        fresh += 1
    if fresh:
        yield " ".join(piece)


def _tail(piece: Sequence[str], following: str) -> list[str]:
    """Return the last sentences of a piece that fit the overlap."""
    tail: list[str] = []
    for sentence in reversed(piece):
        longer = [sentence, *tail]
        if len(" ".join(longer).split()) > OVERLAP_WORDS or not _fits(" ".join((*longer, following))):
            break
        tail = longer
    return tail


def _sentences(text: str) -> Iterator[str]:
    at = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        if sentence := text[at:end].strip():
            yield from [sentence] if _fits(sentence) else _hard_cut(sentence)
        at = end


def _hard_cut(sentence: str) -> Iterator[str]:
    """Cut an overlong sentence between words, an overlong word anywhere."""
    piece: list[str] = []
    for word in sentence.split():
        for part in (word[at : at + MAX_CHARACTERS] for at in range(0, len(word), MAX_CHARACTERS)):
            if piece and not _fits(" ".join((*piece, part))):
                yield " ".join(piece)
                piece = []
            piece.append(part)
    yield " ".join(piece)


def _fits(text: str) -> bool:
    return len(text) <= MAX_CHARACTERS and len(text.split()) <= MAX_WORDS
