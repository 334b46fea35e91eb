"""One typed turn: a conversation in which nothing is said."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, NamedTuple

from pipelines.data.messages import Prompt, Reply, Status
from pipelines.errors import ModelError
from pipelines.load.workload import Workload
from pipelines.session.conversation import Conversation
from pipelines.session.shipped_stages import SHIPPED_STAGES

if TYPE_CHECKING:
    from pipelines.models.bulk import BulkGate
    from pipelines.models.ports import Models
    from pipelines.session.config import ConversationConfig
    from pipelines.stages.registry import StageRegistry
    from pipelines.turns.observer import TurnObserver


class TypedAnswer(NamedTuple):
    """Reply to a typed turn, and what an agent said by itself afterwards."""

    reply: Reply
    followed: tuple[Reply, ...] = ()


async def answer_typed(
    config: ConversationConfig,
    text: str,
    models: Models,
    bulk: BulkGate | None = None,
    stages: StageRegistry = SHIPPED_STAGES,
    observer: TurnObserver | None = None,
    wait_seconds: float | None = None,
) -> TypedAnswer:
    """Understand and answer ``text``, however late; ``bulk`` work waits for it.

    Args:
        config: how the turn is answered.
        text: what was typed.
        models: understanding, answering.
        bulk: what is not urgent waits here.
        stages: what is made of the text.
        observer: hears of it as of a turn of a conversation without a name.
        wait_seconds: time after which the reply is what there is, once the budget has ended; None: no limit but
            ``TurnSettings.late_seconds``.

    Raises:
        ModelError: every stage failed.
    """
    conversation = Conversation(config, models, None, Workload(bulk, observer), stages)
    reply: Reply | None = None
    followed: list[Reply] = []
    try:
        await conversation.add_text(text)
        await conversation.half_close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                until = None if wait_seconds is None else asyncio.get_running_loop().time() + wait_seconds
                async for message in conversation.outbox:
                    if isinstance(message, Prompt):
                        followed.append(message)
                    elif isinstance(message, Reply):
                        reply = message
                        limit.reschedule(until)
    finally:
        await conversation.close()
    if reply is None:
        raise ModelError("the turn ended without a reply")
    if conversation.last_failure is not None and not reply.timings and reply.status is not Status.PARTIAL:
        raise conversation.last_failure
    return TypedAnswer(reply, tuple(followed))
