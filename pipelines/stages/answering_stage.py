"""The answering stage: the caller's documents and knowledge bases, side by side."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pipelines.data.answers import AnswerSearch
from pipelines.data.recognition import Timing
from pipelines.data.stages import QA
from pipelines.knowledge.bases import NO_BASES
from pipelines.stages.answering import find_answer
from pipelines.stages.base_answers import MIN_READ, find_in_bases
from pipelines.stages.follow_ups import FollowUp, follow_up, points_at
from pipelines.stages.questions import CONTINUING, asks, question_in
from pipelines.stages.table_rows import names_nothing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from pipelines.knowledge.bases import KnowledgeBases
    from pipelines.models.ports import TurnModels
    from pipelines.stages.registry import StageConfig, StageRequest


class AnsweringStage:
    """Answers of documents and bases; see ``pipelines.stages.registry.Stage``.

    Args:
        bases: those of the service.
    """

    name: ClassVar[str] = QA
    after: ClassVar[tuple[str, ...]] = ()
    behind: ClassVar[tuple[str, ...]] = ()
    of_no_text: ClassVar[AnswerSearch] = AnswerSearch()
    in_order: ClassVar[bool] = False

    def __init__(self, bases: KnowledgeBases = NO_BASES) -> None:
        self._bases = bases

    def wanted(self, config: StageConfig) -> bool:
        """See ``pipelines.stages.registry.Stage``."""
        return bool(config.documents or config.knowledge)

    async def run(self, request: StageRequest, models: TurnModels) -> AsyncIterator[AnswerSearch]:
        """See ``pipelines.stages.registry.Stage``."""
        config, due = request.config, request.due
        topics: tuple[str, ...] = config.dialog.topics if config.dialog is not None else ()
        # Within an intent "how much is that?" asks for what it is about.
        follows = points_at(request.text, topics[0]) if topics else None
        follows = follows or follow_up(request.text, request.history)
        question = follows.asked if follows is not None else request.text
        if config.dialog is not None and (asked := question_in(question)) != question:
            follows = FollowUp(asked, follows.query if follows is not None else request.text)
            question = asked
        is_asked = config.dialog is not None and (asks(request.text) or CONTINUING.match(request.text) is not None)
        if config.knowledge:
            query = follows.query if follows is not None else question
            found = _better(
                *await asyncio.gather(
                    find_answer(models.answers, question, config.documents, due),
                    find_in_bases(
                        self._bases,
                        config.knowledge,
                        models,
                        question,
                        due,
                        query,
                        callers=_asked(question, request.text, topics) if is_asked else (),
                    ),
                )
            )
        else:
            found = await find_answer(models.answers, question, config.documents, due)
        if config.dialog is not None and not is_asked and found.answer is not None and found.answer.score < MIN_READ:
            # What callers tell is seldom answered by documents.
            found = replace(found, answer=None)
        yield replace(found, asked=follows.asked) if follows is not None else found


def _asked(question: str, text: str, topics: Sequence[str]) -> tuple[str, ...]:
    """Return what a turn may ask: its question, all of it, what it leaves out."""
    asked = [question, text]
    for topic in topics:
        pointed = points_at(question, topic) or points_at(text, topic)
        if pointed is not None:
            asked.append(pointed.asked)
        elif names_nothing(question):
            asked.append(f"{question} ({topic})")
    return tuple(dict.fromkeys(asked))


def _better(first: AnswerSearch, second: AnswerSearch) -> AnswerSearch:
    """Return the answer with the higher score, and what both cost, which ran at once."""
    answers = [each.answer for each in (first, second) if each.answer is not None]
    timings = [each.timing for each in (first, second) if each.timing is not None]
    timing = Timing(max(t.queue_seconds for t in timings), max(t.compute_seconds for t in timings)) if timings else None
    return AnswerSearch(max(answers, key=lambda answer: answer.score, default=None), timing)
