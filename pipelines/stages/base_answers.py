"""Answers from knowledge bases: passages are found, then read."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pipelines.models.contracts import EMBED
from pipelines.models.ports import Timing
from pipelines.stages.answer_kinds import fits
from pipelines.stages.answering import Answer, AnswerSearch, AnswerSource, Document, find_answer
from pipelines.stages.price_rows import price_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.knowledge.bases import FoundInBase, KnowledgeBases
    from pipelines.models.ports import TurnModels

_OTHER_KIND = 0.2
"""What is left of the score of an answer that is of another kind than was asked for, when it is compared."""


async def find_in_bases(
    bases: KnowledgeBases,
    names: Sequence[str],
    models: TurnModels,
    question: str,
    due: float | None = None,
    query: str = "",
) -> AnswerSearch:
    """Return the best answer of knowledge bases, before ``due``.

    Every passage is read by itself, all at once, and the answer with the highest score counts. On questions of
    SQuADShifts that is right more often than reading the passages as one text, and takes as long (docs/knowledge.md).

    Args:
        bases: all of the service.
        names: of those that are searched.
        models: embeddings and answers.
        question: what is asked.
        due: deadline, see ``pipelines.models.ports``.
        query: what is searched, where that is more than the question.

    Raises:
        ModelError: the model for answers does not answer, or a base cannot be read.
    """
    search = await bases.search(names, query or question, models.get(EMBED), due)
    answers = await asyncio.gather(*(_read(models, question, passage, due) for passage in search.passages))
    found = (each.answer for each in answers if each.answer)
    best = max(found, key=lambda one: one.score * (1 if fits(question, one.text) else _OTHER_KIND), default=None)
    best = _price(search.passages, question, query) or best
    costs = [each.timing for each in answers if each.timing is not None]
    queue = search.timing.queue_seconds + max((cost.queue_seconds for cost in costs), default=0.0)
    compute = search.timing.compute_seconds + max((cost.compute_seconds for cost in costs), default=0.0)
    return AnswerSearch(best, Timing(queue, compute))


def _price(passages: Sequence[FoundInBase], question: str, query: str) -> Answer | None:
    """Return the price of the row that has most of the question's words."""
    best: tuple[float, Answer] | None = None
    for passage in passages:
        text = passage.found.passage.text
        found = price_in(text, question, query)
        if found is not None and (best is None or found[2] > best[0]):
            start, end, share = found
            answer = Answer(text[start:end], share, start, end, passage.found.path, _source(passage))
            best = share, answer
    return best[1] if best is not None else None


def _source(passage: FoundInBase) -> AnswerSource:
    found = passage.found
    return AnswerSource(passage.base, found.title, found.passage.headings, found.passage.page, found.passage.text)


async def _read(models: TurnModels, question: str, passage: FoundInBase, due: float | None) -> AnswerSearch:
    found = passage.found
    read = await find_answer(models.answers, question, [Document(found.path, found.passage.text)], due)
    if read.answer is None:
        return read
    return replace(read, answer=replace(read.answer, source=_source(passage)))
