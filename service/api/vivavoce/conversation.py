"""The servicer of ``vivavoce.v1.ConversationService``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from service.api.vivavoce.conversation_stream import answer, hold_conversation
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.errors import reported_to
from service.grpc_server.response_writer import write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from service.grpc_server.errors import Context
    from service.sessions.host import SessionHost
    from vivavoce.v1 import conversation_pb2 as pb


class ConversationServicer:
    """Holds conversations and answers typed turns.

    Args:
        host: makes the conversations.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def Converse(  # noqa: N802 - named by the contract
        self, requests: AsyncIterator[pb.ConverseRequest], context: Context
    ) -> None:
        """Hold one conversation; see the contract."""
        async with reported_to(context):
            await hold_conversation(self._host, requests, functools.partial(write, context))

    async def Ask(  # noqa: N802 - named by the contract
        self, request: pb.AskRequest, context: Context
    ) -> pb.AskResponse:
        """Answer one typed turn; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            return await answer(self._host, request, context.time_remaining())
