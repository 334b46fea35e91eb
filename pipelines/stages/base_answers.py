"""Answers from knowledge bases: passages are found, then read."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pipelines.models.contracts import EMBED
from pipelines.models.ports import Timing
from pipelines.stages.answer_kinds import fits
from pipelines.stages.answering import AnswerSearch, AnswerSource, Document, find_answer

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
    costs = [each.timing for each in answers if each.timing is not None]
    queue = search.timing.queue_seconds + max((cost.queue_seconds for cost in costs), default=0.0)
    compute = search.timing.compute_seconds + max((cost.compute_seconds for cost in costs), default=0.0)
    return AnswerSearch(best, Timing(queue, compute))


async def _read(models: TurnModels, question: str, passage: FoundInBase, due: float | None) -> AnswerSearch:
    found = passage.found
    read = await find_answer(models.answers, question, [Document(found.path, found.passage.text)], due)
    if read.answer is None:
        return read
    text, headings, page = found.passage.text, found.passage.headings, found.passage.page
    source = AnswerSource(passage.base, found.title, headings, page, text)
    return replace(read, answer=replace(read.answer, source=source))
