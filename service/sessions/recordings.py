"""How recordings are recognized, over whichever API: nobody waits for single utterances, and nothing is replied."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from pipelines.messages import Notice, NoticeCode
from pipelines.turns.listening import SOFT_LIMIT
from pipelines.vad.endpointing import EndpointingConfig

if TYPE_CHECKING:
    from pipelines.messages import Message
    from pipelines.session.conversation import Conversation
    from pipelines.turns.state import TurnSettings


def without_live_ends(turns: TurnSettings) -> TurnSettings:
    """Return how a recording is cut: nobody waits for its utterances, so they go on over pauses while they are short.

    Groups of digits and letters are recognized together so. A caller who chooses the pause gets it.
    """
    chosen = turns.endpointing.stop_window_seconds != EndpointingConfig().stop_window_seconds
    return dataclasses.replace(turns, speculates=False, join_samples=0 if chosen else SOFT_LIMIT)


def refuse_failure(conversation: Conversation, message: Message) -> None:
    """Raise ModelError if ``message`` says that recognition failed: a transcript cannot tell it in passing."""
    if isinstance(message, Notice) and message.code is NoticeCode.STAGE_FAILED:
        raise conversation.last_failure or ModelError(message.message)
