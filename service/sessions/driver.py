"""Conversations of callers, whichever door they come through."""

from __future__ import annotations

import dataclasses
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from service.sessions.stream_session import EVERY_REASON, StreamSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pipelines.data.messages import AwayReason, Message
    from pipelines.session.config import ConversationConfig
    from pipelines.session.conversation import Conversation
    from service.sessions.host import SessionHost

RequestT_contra = TypeVar("RequestT_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Opening:
    """A conversation that a caller asks for.

    Attributes:
        config: how it is held.
        agent: who holds the dialog; "": every turn stands alone.
        session_id: names the session of the dialog; "": it ends with the conversation.
        parameters: session parameters.
    """

    config: ConversationConfig
    agent: str = ""
    session_id: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


class Door(Protocol[RequestT_contra]):
    """Translator between one caller and a conversation."""

    async def opened(self, conversation: Conversation, greeting: str) -> None:
        """Take the conversation before it says anything, with its agent's greeting."""

    async def take(self, request: RequestT_contra, /) -> None:
        """Hand one request on; an error that it raises ends the conversation."""

    async def tell(self, channel: int, message: Message, /) -> None:
        """Write what the conversation says; it is the only channel."""


async def converse(
    host: SessionHost,
    opening: Opening,
    door: Door[RequestT_contra],
    requests: AsyncIterator[RequestT_contra],
    refuses: frozenset[AwayReason] = EVERY_REASON,
) -> None:
    """Hold a conversation in a place of its own; see :func:`converse_in_place`."""
    with host.admission.conversation():
        await converse_in_place(host, opening, door, requests, refuses)


async def converse_in_place(
    host: SessionHost,
    opening: Opening,
    door: Door[RequestT_contra],
    requests: AsyncIterator[RequestT_contra],
    refuses: frozenset[AwayReason] = EVERY_REASON,
) -> None:
    """Hold a conversation of a caller who has a place, until everything was said.

    Args:
        host: makes it.
        opening: what is asked for.
        door: translates.
        requests: what comes of the caller.
        refuses: reasons for which a stream that the server ends before everything was read ends with an error.

    Raises:
        ReportedError: it cannot be opened, or cannot go on; see `StreamSession.run`.
    """
    async with host.dialogs.open(opening.agent, opening.session_id, opening.parameters) as dialog:
        config = dataclasses.replace(opening.config, dialog=dialog)
        conversation = host.conversation(config, name=secrets.token_hex(6))
        async with host.open_conversations.holding(conversation):
            await door.opened(conversation, dialog.greeting if dialog else "")
            conversation.dialog.begin()
            quotas = host.admission.quotas
            stream = StreamSession(conversation, (conversation,), host.limits, door.take, door.tell, quotas, refuses)
            await stream.run(requests)
