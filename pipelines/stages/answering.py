"""Answers: where documents answer a question."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pipelines.data.answers import Answer, AnswerSearch, Document
from pipelines.data.recognition import Timing
from pipelines.errors import InvalidInputError
from pipelines.text.reading import faq
from pipelines.text.reading.checks import DISCOUNT, MIN_AGREEMENT, better_passage, is_negated
from pipelines.text.reading.spans import whole_tokens
from pipelines.text.reading.tables import read_tables
from pipelines.text.spoken_questions import as_documents_write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipelines.data.predictions import AnswerSpan
    from pipelines.models.ports import AnswerModel
    from pipelines.text.reading.passages import Passage

MAX_DOCUMENT_CHARACTERS = 100_000
MAX_DOCUMENTS = 32

LONG_CHARACTERS = 10_000
"""Documents that are longer are looked through on a thread: tables of 100,000 characters take a third of a second."""

_SEPARATOR = "\n\n"
_T = TypeVar("_T")


def check_documents(documents: Sequence[Document], field: str) -> None:
    """Check what a caller wants answers from.

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


async def find_answer(
    model: AnswerModel, question: str, documents: Sequence[Document], due: float | None = None
) -> AnswerSearch:
    """Return the best answer of all ``documents``, searched at once before ``due``.

    The documents go to the model as one text, so that the windows of all of them compete for the same few places in
    one batch: the cost is that of one document, however many there are.

    Raises:
        ModelError: the model does not answer.
    """
    if not documents:
        return AnswerSearch()
    text = _SEPARATOR.join(document.text for document in documents)
    entries = await _aside(text, faq.read_entries, text)
    known = faq.asked_for(text, entries, question)
    if known is not None:
        entry, score = known
        return AnswerSearch(_locate(documents, *entry.answer, score))
    passage = await _aside(text, read_tables, text)
    asked = await as_documents_write(question, passage.text)
    found = await model.find(asked, passage.text, due)
    if found.start is None or found.end is None:
        return AnswerSearch(None, found.timing)
    found, passages = await _checked(model, asked, found, passage, due)
    place = found.start or 0, found.end or 0
    for read in passages:
        source = read.source(*place)
        if source is None:
            # The answer is a heading that stands elsewhere.
            return AnswerSearch(None, found.timing)
        place = source
    beside = faq.beside(entries, *place)
    if beside is not None:
        return AnswerSearch(_locate(documents, *beside.answer, found.score), found.timing)
    return AnswerSearch(_locate(documents, *whole_tokens(text, *place), found.score), found.timing)


async def _checked(
    model: AnswerModel, question: str, found: AnswerSpan, passage: Passage, due: float | None
) -> tuple[AnswerSpan, tuple[Passage, ...]]:
    """Ask again, of a part of the text, where an answer is doubtful.

    Returns:
        The answer, and the passages that it stands in, each made of the next.
    """
    is_doubtful, narrower = await _aside(passage.text, better_passage, question, passage.text, found.start or 0)
    if not is_doubtful:
        return found, (passage,)
    if narrower is not None:
        again = await model.find(question, narrower.text, due)
        is_sure = not is_negated(question) or again.score >= MIN_AGREEMENT * found.score
        if again.start is not None and is_sure:
            timing = Timing(
                found.timing.queue_seconds + again.timing.queue_seconds,
                found.timing.compute_seconds + again.timing.compute_seconds,
            )
            return replace(again, timing=timing), (narrower, passage)
    return replace(found, score=DISCOUNT * found.score), (passage,)


async def _aside(text: str, work: Callable[..., _T], *arguments: object) -> _T:
    """Do what takes long for a long text where it keeps nobody waiting."""
    return work(*arguments) if len(text) <= LONG_CHARACTERS else await asyncio.to_thread(work, *arguments)


def _locate(documents: Sequence[Document], start: int, end: int, score: float) -> Answer | None:
    """Find the document of ``start`` in the joined text; clip the answer to it."""
    first = 0
    for document in documents:
        last = first + len(document.text)
        if start < last:
            inside = slice(max(start, first) - first, min(end, last) - first)
            text = document.text[inside]
            return Answer(text, score, inside.start, inside.stop, document.id) if text else None
        first = last + len(_SEPARATOR)
    return None
