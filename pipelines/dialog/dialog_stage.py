"""Dialog stage: previews a turn, which the session commits with its reply."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pipelines.stages.answering_stage import AnsweringStage
from pipelines.stages.registry import DIALOG, NLU, QA
from pipelines.stages.wording import read_documents, sentence_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.dialog.session import DialogSession
    from pipelines.dialog.turn import DialogTurn
    from pipelines.models.ports import TurnModels
    from pipelines.stages.answering import AnswerSearch
    from pipelines.stages.registry import StageConfig, StageRequest


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
    """

    name: ClassVar[str] = DIALOG
    after: ClassVar[tuple[str, ...]] = (NLU,)
    behind: ClassVar[tuple[str, ...]] = (QA,)
    of_no_text: ClassVar[None] = None
    in_order: ClassVar[bool] = True

    def __init__(self, answering: AnsweringStage | None = None) -> None:
        self._answering = answering or AnsweringStage()

    def wanted(self, config: StageConfig) -> bool:
        """See ``pipelines.stages.registry.Stage``."""
        return config.dialog is not None

    async def run(self, request: StageRequest, models: TurnModels) -> AsyncIterator[DialogTurn]:
        """See ``pipelines.stages.registry.Stage``."""
        dialog: DialogSession = request.config.dialog
        search: AnswerSearch | None = request.inputs.get(QA)
        found = search.answer if search is not None else None
        answer = sentence_of(found, read_documents(found, request.config.documents)) if found is not None else ""
        passage = found.source.passage if found is not None and found.source is not None else answer
        speaker = await request.speaker() if dialog.hears_speakers and request.speaker is not None else None
        turn = dialog.preview(request.text, request.inputs[NLU], answer, passage, speaker)
        if dialog.leader is not None:
            turn = await self._led(dialog, turn, request, models)
        if turn.begun:
            now = asyncio.get_running_loop().time()
            left = AHEAD_SECONDS if request.reply_due is None else request.reply_due - now - SPARE_SECONDS
            await dialog.run_ahead(turn, min(AHEAD_SECONDS, left))
            turn = dialog.again(turn)
        yield turn

    async def _led(
        self, dialog: DialogSession, turn: DialogTurn, request: StageRequest, models: TurnModels
    ) -> DialogTurn:
        """Return the turn as the agent's language model leads it."""
        # Agents need pydantic, which services without agents are spared.
        from pipelines.dialog.leading import led_turn  # noqa: PLC0415

        config = request.config
        left = None if request.due is None else request.due - asyncio.get_running_loop().time() - LATE_SPARE_SECONDS

        async def search(question: str) -> str:
            asked = replace(request, text=question, history=(), inputs={})
            found = None
            async for each in self._answering.run(asked, models):
                found = each.answer
            if found is None:
                return ""
            return (
                found.source.passage
                if found.source is not None
                else sentence_of(found, read_documents(found, config.documents))
            )

        has_documents = bool(config.documents or config.knowledge)
        now = config.understanding.clock.now()
        return await led_turn(dialog, turn, now, left, search if has_documents else None)
