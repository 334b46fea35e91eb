"""Dialog stage: previews a turn, which the session commits with its reply."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pipelines.data.stages import DIALOG, NLU, QA
from pipelines.errors import ModelError
from pipelines.models.contracts import EMBED
from pipelines.stages.answer_kinds import fits
from pipelines.stages.answering_stage import AnsweringStage
from pipelines.stages.wording import paragraph_of, read_documents
from pipelines.text.language import ENGLISH
from pipelines.text.values import find_values

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.data.answers import Answer, AnswerSearch
    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.data.understanding import Understanding
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.session import DialogSession
    from pipelines.models.embedding_port import EmbeddingModel
    from pipelines.models.ports import TurnModels
    from pipelines.stages.registry import Stage, StageConfig, StageRequest


AHEAD_SECONDS = 0.15
"""Time for which the result of a fulfilment that changes nothing is waited for, to be part of the reply."""
SPARE_SECONDS = 0.05
"""Of the reply budget, for what comes behind."""
LATE_SPARE_SECONDS = 0.5
"""Of the time for a late reply, for what comes behind a language model."""


class DialogStage:
    """Agent's words to a turn; see ``pipelines.stages.registry.Stage``.

    Args:
        answering: finds answers for language models that lead agents; None: in the caller's documents alone.
        compares_meaning: whether sentences of agents are compared by their embeddings, beside their words, where the
            engine knows no intent of the agent.
    """

    name: ClassVar[str] = DIALOG
    after: ClassVar[tuple[str, ...]] = (NLU,)
    behind: ClassVar[tuple[str, ...]] = (QA,)
    of_no_text: ClassVar[None] = None
    in_order: ClassVar[bool] = True

    def __init__(self, answering: Stage | None = None, *, compares_meaning: bool = False) -> None:
        self._answering: Stage = answering or AnsweringStage()
        self._compares_meaning = compares_meaning

    def wanted(self, config: StageConfig) -> bool:
        """See ``pipelines.stages.registry.Stage``."""
        return config.dialog is not None

    async def run(self, request: StageRequest, models: TurnModels) -> AsyncIterator[DialogTurn]:
        """See ``pipelines.stages.registry.Stage``."""
        dialog: DialogSession = request.config.dialog
        search: AnswerSearch | None = request.inputs.get(QA)
        found = search.answer if search is not None else None
        if search is not None and found is not None and not fits(search.asked or request.text, found.text):
            # "45 minutes" to "how much is it?" is no answer.
            found = None
        answer = paragraph_of(found, read_documents(found, request.config.documents)) if found is not None else ""
        score = found.score if found is not None else 0.0
        passage = found.source.passage if found is not None and found.source is not None else answer
        understanding = await self._understood(dialog.agent, request, models)
        speaker = await request.speaker() if dialog.hears_speakers and request.speaker is not None else None
        today = request.config.understanding.clock.now().date().isoformat()
        turn = dialog.preview(request.text, understanding, answer, passage, speaker, today, answer_score=score)
        if dialog.leader is not None:
            turn = await self._led(dialog, turn, request, models)
        if turn.begun:
            now = asyncio.get_running_loop().time()
            left = AHEAD_SECONDS if request.reply_due is None else request.reply_due - now - SPARE_SECONDS
            await dialog.run_ahead(turn, min(AHEAD_SECONDS, left))
            turn = dialog.again(turn)
        yield turn

    async def _understood(self, agent: Agent, request: StageRequest, models: TurnModels) -> Understanding:
        """Return the understanding by the engine, or by sentences it does not know."""
        from pipelines.dialog.by_example import (  # noqa: PLC0415 - only where there are agents, which need pydantic
            by_example,
            embed_sentences,
            is_unknown_to,
            parts_of,
        )

        understanding: Understanding = request.inputs[NLU]
        if agent.form.language != ENGLISH:
            now = request.config.understanding.clock.now()
            understanding = replace(understanding, values=find_values(request.text, now, agent.form.language))
        if not is_unknown_to(agent, understanding):
            return understanding
        vectors = None
        if self._compares_meaning:
            parts = parts_of(request.text)
            # Words alone tell enough to go on with.
            with contextlib.suppress(ModelError):
                model: EmbeddingModel = models.get(EMBED)
                if agent.examples.vectors is None:
                    await embed_sentences(agent, model)
                vectors = dict(zip(parts, (await model.embed(list(parts.values()), request.due)).vectors, strict=True))
        return by_example(agent, request.text, understanding, vectors)

    async def _led(
        self, dialog: DialogSession, turn: DialogTurn, request: StageRequest, models: TurnModels
    ) -> DialogTurn:
        """Return the turn as the agent's language model leads it."""
        # Agents need pydantic, which services without agents are spared.
        from pipelines.dialog.leading import led_turn  # noqa: PLC0415

        config, documents = request.config, request.config.documents
        left = None if request.due is None else request.due - asyncio.get_running_loop().time() - LATE_SPARE_SECONDS

        async def search(question: str) -> str:
            asked = replace(request, text=question, history=(), inputs={})
            *_, found = [output async for output in self._answering.run(asked, models)]
            answer: Answer | None = getattr(found, "answer", None)
            if answer is None or not fits(question, answer.text):
                return ""
            return answer.source.passage if answer.source else paragraph_of(answer, read_documents(answer, documents))

        has_documents = bool(documents or config.knowledge)
        now = config.understanding.clock.now()
        return await led_turn(dialog, turn, now, left, search if has_documents else None)
