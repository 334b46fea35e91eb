"""The servicer of ``vivavoce.v1.ConversationService``."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import secrets
from typing import TYPE_CHECKING

from pipelines.conversation import Conversation
from pipelines.errors import InvalidInputError
from pipelines.messages import AwayReason, Reply
from pipelines.typed_turn import answer_typed
from service import wire
from service.errors import reported_to
from service.malformed import refuse_malformed
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from pipelines.ports import Models
    from pipelines.voice_activity import SileroModel
    from service.admission import Admission
    from service.errors import Context

logger = logging.getLogger(__name__)

_DRAIN_POLL_SECONDS = 0.05


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """How long a conversation may be silent.

    Attributes:
        idle_seconds: a conversation in which nothing was sent for so long is told that it ends.
        grace_seconds: time from then until it is ended.
        config_seconds: a stream whose config has not come by then is refused.
    """

    idle_seconds: float = 900.0
    grace_seconds: float = 5.0
    config_seconds: float = 10.0


class ConversationServicer:
    """Holds conversations and answers typed turns.

    Args:
        models: recognition, understanding, answering.
        voice: voice activity, shared by all conversations.
        admission: who is let in.
        limits: how long a conversation may be silent.
    """

    def __init__(self, models: Models, voice: SileroModel, admission: Admission, limits: Limits) -> None:
        self._models = models
        self._voice = voice
        self._admission = admission
        self._limits = limits
        self._open: set[Conversation] = set()

    async def Converse(  # noqa: N802 - named by the contract
        self, requests: AsyncIterator[pb.ConverseRequest], context: Context
    ) -> None:
        """Holds one conversation; see the contract."""
        async with reported_to(context):
            with self._admission.conversation():
                config = wire.to_config(await self._first_config(requests))
                conversation = Conversation(config, self._models, self._voice.new_stream())
                self._open.add(conversation)
                try:
                    await self._hold(conversation, requests, context)
                finally:
                    self._open.discard(conversation)
                    await conversation.close()

    async def Ask(  # noqa: N802 - named by the contract
        self, request: pb.AskRequest, context: Context
    ) -> pb.AskResponse:
        """Answers one typed turn; see the contract."""
        loop = asyncio.get_running_loop()
        async with reported_to(context):
            refuse_malformed(request)
            self._admission.check()
            documents = wire.check_ask(request)
            budget = wire.to_budget(request, "reply_budget")
            reply = await answer_typed(self._models, request.text, documents, budget)
            return pb.AskResponse(reply=wire.to_reply(reply, loop.time()))

    async def drain(self, grace_seconds: float) -> None:
        """Announces the shutdown to every conversation, and ends each as soon as it has no turn under way."""
        loop = asyncio.get_running_loop()
        until = loop.time() + grace_seconds
        for conversation in self._open:
            conversation.announce_end(AwayReason.SHUTDOWN, grace_seconds)
        while self._open and loop.time() < until:
            for conversation in tuple(self._open):
                if conversation.phase == "idle":
                    conversation.outbox.finish()
            await asyncio.sleep(_DRAIN_POLL_SECONDS)

    async def _first_config(self, requests: AsyncIterator[pb.ConverseRequest]) -> pb.ConversationConfig:
        """Reads the first request; a stream that sends none must not hold a place for ever."""
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
        """Reads what the caller sends beside writing what the conversation says."""
        name = secrets.token_hex(6)
        loop = asyncio.get_running_loop()
        await context.write(pb.ConverseResponse(started=pb.Started(conversation_id=name)))
        reader = asyncio.create_task(self._read(conversation, requests), name=f"read-{name}")
        try:
            async for message in conversation.outbox:
                response = wire.to_response(message, loop.time())
                await context.write(response)
                if isinstance(message, Reply):
                    _log_reply(name, message, loop.time())
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    async def _read(self, conversation: Conversation, requests: AsyncIterator[pb.ConverseRequest]) -> None:
        """Hands what the caller sends on; what is wrong with it ends the conversation through its outbox."""
        with _IdleWatch(conversation, self._limits) as idle:
            try:
                async for request in requests:
                    idle.touch()
                    await _hand_on(conversation, request)
                await conversation.half_close()
            except Exception as error:  # noqa: BLE001 - the writer reports it to the caller
                conversation.outbox.fail(error)


class _IdleWatch:
    """Ends a conversation in which nothing was sent for too long."""

    def __init__(self, conversation: Conversation, limits: Limits) -> None:
        self._conversation = conversation
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._touched = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._arm()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def touch(self) -> None:
        """Says that something was sent."""
        self._touched = self._loop.time()

    def _arm(self) -> None:
        # One timer a period, however many messages come: re-arming at each would cost more than they do.
        self._timer = self._loop.call_at(self._touched + self._limits.idle_seconds, self._check)

    def _check(self) -> None:
        if self._loop.time() < self._touched + self._limits.idle_seconds:
            self._arm()
            return
        self._conversation.announce_end(AwayReason.IDLE, self._limits.grace_seconds)
        self._timer = self._loop.call_later(self._limits.grace_seconds, self._conversation.outbox.finish)


async def _hand_on(conversation: Conversation, request: pb.ConverseRequest) -> None:
    refuse_malformed(request)
    match request.WhichOneof("request"):
        case "audio":
            await conversation.add_audio(wire.check_audio(request.audio))
        case "text":
            await conversation.add_text(wire.check_text(request.text))
        case "end_of_utterance":
            conversation.end_utterance()
        case "config":
            message = "a config came a second time: open another stream to change it"
            raise InvalidInputError("config", "SECOND_CONFIG", message)
        case _:
            raise InvalidInputError("request", "EMPTY_REQUEST", "a request is empty: send audio, text or an end")


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
