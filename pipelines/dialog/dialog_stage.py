"""Dialog stage: previews a turn, which the session commits with its reply."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

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


class DialogStage:
    """Agent's words to a turn; see ``pipelines.stages.registry.Stage``."""

    name: ClassVar[str] = DIALOG
    after: ClassVar[tuple[str, ...]] = (NLU,)
    behind: ClassVar[tuple[str, ...]] = (QA,)
    of_no_text: ClassVar[None] = None
    in_order: ClassVar[bool] = True

    def wanted(self, config: StageConfig) -> bool:
        """See ``pipelines.stages.registry.Stage``."""
        return config.dialog is not None

    async def run(
        self,
        request: StageRequest,
        models: TurnModels,  # noqa: ARG002 - a dialog has no model of its own
    ) -> AsyncIterator[DialogTurn]:
        """See ``pipelines.stages.registry.Stage``."""
        dialog: DialogSession = request.config.dialog
        search: AnswerSearch | None = request.inputs.get(QA)
        found = search.answer if search is not None else None
        answer = sentence_of(found, read_documents(found, request.config.documents)) if found is not None else ""
        passage = found.source.passage if found is not None and found.source is not None else answer
        speaker = await request.speaker() if dialog.hears_speakers and request.speaker is not None else None
        turn = dialog.preview(request.text, request.inputs[NLU], answer, passage, speaker)
        if turn.begun:
            now = asyncio.get_running_loop().time()
            left = AHEAD_SECONDS if request.reply_due is None else request.reply_due - now - SPARE_SECONDS
            await dialog.run_ahead(turn, min(AHEAD_SECONDS, left))
            turn = dialog.preview(request.text, request.inputs[NLU], answer, passage, speaker)
        yield turn
