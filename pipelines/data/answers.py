"""Documents, and answers that were found in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.data.recognition import Timing


@dataclass(frozen=True, slots=True)
class Document:
    """A text that answers are looked for in, with the caller's own name for it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """Source of an answer in a knowledge base.

    Attributes:
        base: name of the base.
        title: of the document.
        headings: titles of the sections that hold it, the outermost first.
        page: number of the page, from 1; None: the format has no pages.
        passage: text that the answer was read in; its places are in there.
    """

    base: str
    title: str
    headings: tuple[str, ...]
    page: int | None
    passage: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A passage that answers the question.

    Attributes:
        text: the passage.
        score: probability that it is the answer, 0 to 1.
        start: its first code point in the document, or in the passage of a knowledge base.
        end: one past its last code point.
        document_id: the document that holds it; of a knowledge base, the path of its file.
        source: where it stands in a knowledge base; None: it stands in a document of the caller.
    """

    text: str
    score: float
    start: int
    end: int
    document_id: str
    source: AnswerSource | None = None


@dataclass(frozen=True, slots=True)
class AnswerSearch:
    """Result of a search for an answer.

    Attributes:
        answer: None when no document holds one.
        timing: what it cost; None when there was nothing to compute.
        asked: the question with what it left out, of one that depends on an earlier one; "" of one that stands alone.
    """

    answer: Answer | None = None
    timing: Timing | None = None
    asked: str = ""
