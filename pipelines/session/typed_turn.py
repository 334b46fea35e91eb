"""One typed turn: a conversation in which nothing is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from pipelines.load.workload import Workload
from pipelines.messages import Reply
from pipelines.session.conversation import Conversation
from pipelines.stages.shipped import SHIPPED_STAGES

if TYPE_CHECKING:
    from pipelines.load.bulk import BulkGate
    from pipelines.models.ports import Models
    from pipelines.session.config import ConversationConfig
    from pipelines.session.observer import TurnObserver
    from pipelines.stages.registry import StageRegistry


async def answer_typed(
    config: ConversationConfig,
    text: str,
    models: Models,
    bulk: BulkGate | None = None,
    stages: StageRegistry = SHIPPED_STAGES,
    observer: TurnObserver | None = None,
) -> Reply:
    """Understands and answers ``text``, with what is ready inside the budget; bulk work behind ``bulk`` waits for it.

    An ``observer`` hears of it as of a turn of a conversation without a name.

    Raises:
        ModelError: every stage failed.
    """
    conversation = Conversation(config, models, None, Workload(bulk, observer), stages)
    try:
        await conversation.add_text(text)
        await conversation.half_close()
        async for message in conversation.outbox:
            if not isinstance(message, Reply):
                continue
            if conversation.last_failure is not None and not message.timings:
                raise conversation.last_failure
            return message
    finally:
        await conversation.close()
    raise ModelError("the turn ended without a reply")
