"""Recognition of recordings for all APIs: bulk work without replies."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pipelines.data.messages import Notice, NoticeCode
from pipelines.errors import ModelError
from pipelines.turns.listening import SOFT_LIMIT
from pipelines.vad.endpointing import EndpointingConfig

if TYPE_CHECKING:
    from pipelines.data.messages import Message
    from pipelines.session.conversation import Conversation
    from pipelines.turns.state import TurnSettings


def without_live_ends(turns: TurnSettings) -> TurnSettings:
    """Return the endpointing of recordings: utterances span short pauses.

    Groups of digits and letters are recognized together so. A caller who chooses the pause gets it.
    """
    chosen = turns.endpointing.stop_window_seconds != EndpointingConfig().stop_window_seconds
    return dataclasses.replace(turns, speculates=False, join_samples=0 if chosen else SOFT_LIMIT)


def refuse_failure(conversation: Conversation, message: Message) -> None:
    """Raise ModelError if ``message`` reports a failed recognition."""
    if isinstance(message, Notice) and message.code is NoticeCode.STAGE_FAILED:
        raise conversation.last_failure or ModelError(message.message)
