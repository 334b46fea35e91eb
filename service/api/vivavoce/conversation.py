"""The servicer of ``vivavoce.v1.ConversationService``."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import secrets
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from pipelines.messages import AwayReason, GoingAway, Reply
from pipelines.session.conversation import Conversation
from pipelines.session.typed_turn import answer_typed
from service.api.vivavoce import converters
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.errors import reported_to
from service.grpc_server.writing import write
from service.refusals import ended_early
from service.sessions.lifetime import LifetimeWatch
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.models.ports import Models
    from pipelines.vad.voice_activity import SileroModel
    from service.admission.admission import Admission
    from service.grpc_server.errors import Context
    from service.sessions.lifetime import Limits
    from service.sessions.open_conversations import OpenConversations

logger = logging.getLogger(__name__)

MAX_REQUEST_ID_CHARACTERS = 64


class ConversationServicer:
    """Holds conversations and answers typed turns.

    Args:
        models: recognition, understanding, answering.
        voice: voice activity, shared by all conversations.
        admission: who is let in.
        limits: how long a conversation may be silent, and how long it may last.
        open_conversations: knows those that are held.
        speculates: whether replies are worked out during the trailing silence.
    """

    def __init__(
        self,
        models: Models,
        voice: SileroModel,
        admission: Admission,
        limits: Limits,
        open_conversations: OpenConversations,
        *,
        speculates: bool = True,
    ) -> None:
        self._models = models
        self._voice = voice
        self._admission = admission
        self._limits = limits
        self._open = open_conversations
        self._speculates = speculates

    async def Converse(  # noqa: N802 - named by the contract
        self, requests: AsyncIterator[pb.ConverseRequest], context: Context
    ) -> None:
        """Holds one conversation; see the contract."""
        async with reported_to(context):
            self._admission.check()
            # A place is given to those who have said what they want, not to everybody who connects.
            config = converters.to_config(await self._first_config(requests))
            with self._admission.conversation():
                turns = dataclasses.replace(config.turns, speculates=self._speculates)
                config = dataclasses.replace(config, turns=turns)
                conversation = Conversation(config, self._models, self._voice.new_stream(), self._open.workload)
                async with self._open.holding(conversation):
                    await self._hold(conversation, requests, context)

    async def Ask(  # noqa: N802 - named by the contract
        self, request: pb.AskRequest, context: Context
    ) -> pb.AskResponse:
        """Answers one typed turn; see the contract."""
        loop = asyncio.get_running_loop()
        async with reported_to(context):
            refuse_malformed(request)
            self._admission.check()
            config = converters.to_ask_config(request)
            with self._admission.typed_turn():
                reply = await answer_typed(self._models, request.text, config, self._open.workload.bulk)
            return pb.AskResponse(reply=converters.to_reply(reply, loop.time()))

    async def _first_config(self, requests: AsyncIterator[pb.ConverseRequest]) -> pb.ConversationConfig:
        """Reads the first request; a stream that sends none must not be held for ever."""
        try:
            async with asyncio.timeout(self._limits.config_seconds):
                async for request in requests:
                    refuse_malformed(request)
                    if request.WhichOneof("request") == "config":
                        return request.config
                    break
        except TimeoutError:
            message = f"no config came within {self._limits.config_seconds:g} s: send it first, and at once"
            raise InvalidInputError("config", "NO_CONFIG", message) from None
        raise InvalidInputError("config", "NO_CONFIG", "the first request must be a config")

    async def _hold(
        self,
        conversation: Conversation,
        requests: AsyncIterator[pb.ConverseRequest],
        context: Context,
    ) -> None:
        """Reads what the caller sends beside writing what the conversation says.

        Raises:
            NotReadyError: the server shut down before everything was read.
            OldStreamError: the conversation lasted as long as one may before everything was read.
        """
        away: AwayReason | None = None
        name = secrets.token_hex(6)
        loop = asyncio.get_running_loop()
        await write(context, pb.ConverseResponse(started=pb.Started(conversation_id=name)))
        reader = asyncio.create_task(self._read(conversation, requests), name=f"read-{name}")
        try:
            async for message in conversation.outbox:
                await write(context, converters.to_response(message, loop.time()))
                if isinstance(message, Reply):
                    _log_reply(name, message, loop.time())
                elif isinstance(message, GoingAway):
                    away = message.reason
            if away in {AwayReason.SHUTDOWN, AwayReason.AGE} and not reader.done():
                # The caller may have sent more, even everything: with OK it would seem to have been heard.
                raise ended_early(away)
        finally:
            reader.cancel()
            # Awaited alone, a reader that was cancelled could not be told from a handler that is.
            await asyncio.wait((reader,))

    async def _read(self, conversation: Conversation, requests: AsyncIterator[pb.ConverseRequest]) -> None:
        """Hands what the caller sends on; what is wrong with it ends the conversation through its outbox."""
        with LifetimeWatch(conversation, self._limits) as lifetime:
            try:
                async for request in requests:
                    lifetime.touch()
                    await _hand_on(conversation, request)
                await conversation.half_close()
            except Exception as error:  # noqa: BLE001 - the writer reports it to the caller
                conversation.outbox.fail(error)


async def _hand_on(conversation: Conversation, request: pb.ConverseRequest) -> None:
    refuse_malformed(request)
    match request.WhichOneof("request"):
        case "audio":
            await conversation.add_audio(converters.check_audio(request.audio))
        case "text":
            await conversation.add_text(converters.check_text(request.text), _check_request_id(request.request_id))
        case "end_of_utterance":
            conversation.end_utterance(_check_request_id(request.request_id))
        case "config":
            message = "a config came a second time: open another stream to change it"
            raise InvalidInputError("config", "SECOND_CONFIG", message)
        case _:
            raise InvalidInputError("request", "EMPTY_REQUEST", "a request is empty: send audio, text or an end")


def _check_request_id(request_id: str) -> str:
    """Returns the caller's name for a request as it is.

    Raises:
        InvalidInputError: it is too long.
    """
    if len(request_id) > MAX_REQUEST_ID_CHARACTERS:
        message = f"the request_id has {len(request_id):,} characters: send at most {MAX_REQUEST_ID_CHARACTERS}"
        raise InvalidInputError("request_id", "REQUEST_ID_TOO_LONG", message)
    return request_id


def _log_reply(conversation: str, reply: Reply, now_seconds: float) -> None:
    """Logs how a reply went; never what was said."""
    logger.info(
        "conversation %s turn %d: %s in %.0f ms%s",
        conversation,
        reply.turn,
        reply.status.value,
        1000 * (now_seconds - reply.ended_at_seconds),
        " (speculated)" if reply.speculated else "",
    )
