"""Answers from knowledge bases: passages are found, then read."""

from __future__ import annotations

import asyncio
import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pipelines.data.answers import Answer, AnswerSearch, AnswerSource, Document
from pipelines.data.recognition import Timing
from pipelines.errors import ModelError
from pipelines.models.contracts import EMBED
from pipelines.speech.sentences import bounds
from pipelines.stages.answer_kinds import fits
from pipelines.stages.answering import find_answer
from pipelines.stages.statements import most_like, statements_of
from pipelines.stages.table_rows import row_in

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from pipelines.knowledge.bases import FoundInBase, KnowledgeBases
    from pipelines.models.ports import TurnModels
    from pipelines.stages.statements import Statement

MIN_SAME_QUESTION = 0.56
"""Cosine of a question and a heading from which on they ask the same."""
MIN_READ = 0.5
"""Score of an answer that was read from which on it counts though no statement is like the question."""
_TIE = 0.1
"""Likeness within which rows about the same are all told."""
_OTHER_KIND = 0.2
"""What is left of the score of an answer that is of another kind than was asked for, when it is compared."""


async def find_in_bases(
    bases: KnowledgeBases,
    names: Sequence[str],
    models: TurnModels,
    question: str,
    due: float | None = None,
    query: str = "",
    callers: Collection[str] = (),
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
        callers: what a caller of an agent asks, with and without what was said before it: the statement that is most
            like it answers; (): a sentence is asked, as of an index.

    Raises:
        ModelError: the model for answers does not answer, or a base cannot be read.
    """
    query = query or question
    vectors, embedding = await _embedded(models, (query, question, *callers), due)
    search = await bases.search(names, query, vectors[0] if vectors is not None else None)
    passages = search.passages
    compared: list[Statement] = []
    comparing = None
    if vectors is not None:
        compared = [statement for it in passages for statement in _statements(it)] if callers else []
        texts = [text for one in compared for text in one.compared] if callers else _asking(passages)
        comparing = asyncio.create_task(_likenesses(bases, models, texts, vectors[2:] if callers else vectors[1:], due))
    try:
        answers = await asyncio.gather(*(_read(models, question, passage, due) for passage in passages))
        likenesses = await comparing if comparing is not None else None
    finally:
        if comparing is not None:
            comparing.cancel()
    read = [each.answer for each in answers]
    if callers and likenesses is not None:
        best = _of_statement(passages, read, likenesses, question) or _read_best(read, question, MIN_READ)
    else:
        best = _of_row(passages, question, query if query != question else "") or _read_best(read, question)
        asked_before = _of_heading(passages, likenesses, question) if likenesses is not None else None
        if asked_before is not None and (best is None or best.score < asked_before.score):
            best = asked_before
    costs = [each.timing for each in answers if each.timing is not None]
    queue = embedding.queue_seconds + max((cost.queue_seconds for cost in costs), default=0.0)
    computing = max((cost.compute_seconds for cost in costs), default=0.0)
    compute = embedding.compute_seconds + search.timing.compute_seconds + computing
    return AnswerSearch(best, Timing(queue, compute))


async def _embedded(
    models: TurnModels, texts: Sequence[str], due: float | None
) -> tuple[npt.NDArray[np.float32] | None, Timing]:
    """Embed texts, each once; None: words alone tell."""
    different = list(dict.fromkeys(texts))
    try:
        embedded = await models.get(EMBED).embed(different, due)
    except ModelError:
        return None, Timing(0.0, 0.0)
    return embedded.vectors[[different.index(text) for text in texts]], embedded.timing


async def _likenesses(
    bases: KnowledgeBases, models: TurnModels, texts: Sequence[str], asked: npt.NDArray[np.float32], due: float | None
) -> npt.NDArray[np.float32] | None:
    """Return the highest cosine of each text; None: they are not known."""
    if not texts:
        return None
    try:
        vectors = await bases.vectors.of(models.get(EMBED), texts, due)
    except ModelError:
        return None
    highest: npt.NDArray[np.float32] = (vectors @ asked.T).max(axis=1)
    return highest


def _read_best(read: Sequence[Answer | None], question: str, least: float = 0.0) -> Answer | None:
    """Return the answer with the highest score among those that were read."""
    found = (one for one in read if one is not None and one.score >= least)
    return max(found, key=lambda one: one.score * (1 if fits(question, one.text) else _OTHER_KIND), default=None)


def _of_statement(
    passages: Sequence[FoundInBase],
    read: Sequence[Answer | None],
    likenesses: npt.NDArray[np.float32],
    question: str,
) -> Answer | None:
    """Return the statement that is most like a question; None: none is like it."""
    placed = [(at, statement) for at, passage in enumerate(passages) for statement in _statements(passage)]
    scores = []
    for at, statement in placed:
        answer = read[at]
        is_inside = answer is not None and statement.start <= answer.start < statement.end
        scores.append(answer.score if answer is not None and is_inside else 0.0)
    ends = itertools.accumulate(len(statement.compared) for _, statement in placed)
    highest = [float(some.max()) for some in np.split(likenesses, list(ends)[:-1])]
    found = most_like(question, [statement for _, statement in placed], highest, scores)
    if found is None:
        return None
    at, statement = placed[found[0]]
    whole = passages[at].found.passage.text
    start, end = statement.start, statement.end
    for place in _same_rows(placed, highest, found[0], whole):
        start, end = min(start, placed[place][1].start), max(end, placed[place][1].end)
    return Answer(whole[start:end], min(1.0, found[1]), start, end, passages[at].found.path, _source(passages[at]))


def _same_rows(placed: Sequence[tuple[int, Statement]], highest: Sequence[float], best: int, text: str) -> list[int]:
    """Return the rows beside one that begin with its word: "transfer abroad"."""

    def first(place: int) -> str:
        at, statement = placed[place]
        is_beside = statement.is_row and at == placed[best][0]
        return next(iter(re.findall(r"\w+", text[statement.start : statement.end].lower())), "") if is_beside else ""

    rows: list[int] = []
    for step in (-1, 1):
        place = best + step
        while 0 <= place < len(placed) and first(place) and first(place) == first(best):
            if highest[place] < highest[best] - _TIE:
                break
            rows.append(place)
            place += step
    return rows


def _statements(passage: FoundInBase) -> tuple[Statement, ...]:
    found = passage.found
    return statements_of(found.passage.text, found.passage.headings[-1] if found.passage.headings else found.title)


def _asking(passages: Sequence[FoundInBase]) -> list[str]:
    """Return the headings that ask something, of each passage."""
    headings = (passage.found.passage.headings for passage in passages)
    return [last for last in (each[-1] for each in headings if each) if last.endswith("?")]


def _of_row(passages: Sequence[FoundInBase], question: str, query: str) -> Answer | None:
    """Return the price or hours of the row that has most of the question's words."""
    best: tuple[float, Answer] | None = None
    for passage in passages:
        text = passage.found.passage.text
        found = row_in(text, question, query)
        if found is not None and (best is None or found[2] > best[0]):
            start, end, share = found
            answer = Answer(text[start:end], share, start, end, passage.found.path, _source(passage))
            best = share, answer
    return best[1] if best is not None else None


def _of_heading(passages: Sequence[FoundInBase], likenesses: npt.NDArray[np.float32], question: str) -> Answer | None:
    """Return what stands below a heading that asks the same; None: none does."""
    asking = [passage for passage in passages if _asking([passage])]
    at = int(likenesses.argmax())
    passage, text = asking[at], asking[at].found.passage.text
    if likenesses[at] < MIN_SAME_QUESTION or not fits(question, text):
        return None
    _, end = bounds(text, 0, 1)
    return Answer(text[:end], float(likenesses[at]), 0, end, passage.found.path, _source(passage))


def _source(passage: FoundInBase) -> AnswerSource:
    found = passage.found
    return AnswerSource(passage.base, found.title, found.passage.headings, found.passage.page, found.passage.text)


async def _read(models: TurnModels, question: str, passage: FoundInBase, due: float | None) -> AnswerSearch:
    found = passage.found
    read = await find_answer(models.answers, question, [Document(found.path, found.passage.text)], due)
    if read.answer is None:
        return read
    return replace(read, answer=replace(read.answer, source=_source(passage)))
