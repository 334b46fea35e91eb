"""The answering stage: where the caller's documents answer a question."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.ports import AnswerModel, Timing

MAX_DOCUMENT_CHARACTERS = 100_000
MAX_DOCUMENTS = 32


@dataclass(frozen=True, slots=True)
class Document:
    """A text that answers are looked for in, with the caller's own name for it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A passage that answers the question.

    Attributes:
        text: the passage.
        score: probability that it is the answer, 0 to 1.
        start: its first code point in the document.
        end: one past its last code point.
        document_id: the document that holds it.
    """

    text: str
    score: float
    start: int
    end: int
    document_id: str


@dataclass(frozen=True, slots=True)
class AnswerSearch:
    """What came of looking for an answer.

    Attributes:
        answer: None when no document holds one.
        timing: what it cost; None when there was nothing to compute.
    """

    answer: Answer | None = None
    timing: Timing | None = None


def check_documents(documents: Sequence[Document], field: str) -> None:
    """Checks what a caller wants answers from.

    Raises:
        InvalidInputError: too many documents, too much text, or ids that do not tell documents apart.
    """
    if len(documents) > MAX_DOCUMENTS:
        raise InvalidInputError(
            field, "TOO_MANY_DOCUMENTS", f"{len(documents)} documents: send at most {MAX_DOCUMENTS}"
        )
    characters = sum(len(document.text) for document in documents)
    if characters > MAX_DOCUMENT_CHARACTERS:
        raise InvalidInputError(
            field,
            "DOCUMENTS_TOO_LONG",
            f"the documents have {characters:,} characters together: send at most {MAX_DOCUMENT_CHARACTERS:,}",
        )
    if len({document.id for document in documents}) < len(documents):
        raise InvalidInputError(field, "DUPLICATE_DOCUMENT_ID", "two documents have the same id: give each its own")
    if any(not document.text.strip() for document in documents):
        raise InvalidInputError(field, "EMPTY_DOCUMENT", "a document has no text: leave it out")


async def find_answer(model: AnswerModel, question: str, documents: Sequence[Document]) -> AnswerSearch:
    """Looks for the answer in all ``documents`` at once and returns the most likely one.

    Raises:
        ModelError: the model does not answer.
    """
    if not documents:
        return AnswerSearch()
    spans = await asyncio.gather(*(model.find(question, document.text) for document in documents))
    timing = max((span.timing for span in spans), key=lambda timing: timing.total_seconds)
    found = [
        Answer(document.text[span.start : span.end], span.score, span.start, span.end, document.id)
        for span, document in zip(spans, documents, strict=True)
        if span.start is not None and span.end is not None
    ]
    return AnswerSearch(max(found, key=lambda answer: answer.score, default=None), timing)
