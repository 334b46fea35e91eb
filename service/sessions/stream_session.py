"""Stream of requests and responses over any API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pipelines.data.messages import AwayReason, GoingAway
from service.refusals import ended_early
from service.security.principal import current_principal
from service.sessions.lifetime import Endable, LifetimeWatch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from pipelines.data.messages import Message
    from pipelines.session.conversation import Conversation
    from service.admission.quotas import Quotas
    from service.sessions.lifetime import Limits

RequestT = TypeVar("RequestT")

EVERY_REASON = frozenset(AwayReason)


class Input(Endable, Protocol):
    """Request side of a stream: one conversation, or one a channel."""

    async def half_close(self) -> None:
        """Say that nothing more will be sent."""

    def fail(self, error: Exception) -> None:
        """End what is said with an error."""


class StreamSession(Generic[RequestT]):
    """Reads what the caller sends beside writing what the conversations say.

    Args:
        taken_in_by: takes the requests in.
        conversations: what they say is written, each in its order.
        limits: how long the stream may be silent, and how long it may last.
        hand_on: hands one request on; an error that it raises ends the stream.
        tell: writes one message, given with the position of its conversation.
        quotas: what the caller's principal may send.
        refuses: reasons for which a stream that the server ends before everything was read ends with an error.
    """

    def __init__(
        self,
        taken_in_by: Input,
        conversations: Sequence[Conversation],
        limits: Limits,
        hand_on: Callable[[RequestT], Awaitable[None]],
        tell: Callable[[int, Message], Awaitable[None]],
        quotas: Quotas,
        refuses: frozenset[AwayReason] = EVERY_REASON,
    ) -> None:
        self._input = taken_in_by
        self._conversations = tuple(conversations)
        self._limits = limits
        self._hand_on = hand_on
        self._tell = tell
        self._quotas = quotas
        self._principal = current_principal()
        self._charged_seconds = 0.0
        self._refuses = refuses

    async def run(self, requests: AsyncIterator[RequestT]) -> None:
        """Return when everything was said.

        Raises:
            InvalidInputError: a request cannot be served.
            NotReadyError: the server shut down before everything was read.
            IdleStreamError: nothing was sent for too long.
            OldStreamError: the stream lasted as long as one may before everything was read.
            SlowReaderError: the caller does not read.
            QuotaError: the caller's principal has sent more audio than he may.
        """
        reader = asyncio.create_task(self._read(requests), name="stream reader")
        writers = [
            asyncio.create_task(self._write(index, conversation), name="stream writer")
            for index, conversation in enumerate(self._conversations)
        ]
        try:
            reasons = [reason for reason in await asyncio.gather(*writers) if reason in self._refuses]
            if reasons and not reader.done():
                # The caller may have sent more, even everything: with OK it would seem to have been heard.
                raise ended_early(reasons[0])
        finally:
            for task in (reader, *writers):
                task.cancel()
            # Awaited alone, a task that was cancelled could not be told from a handler that is.
            await asyncio.wait((reader, *writers))

    async def _write(self, index: int, conversation: Conversation) -> AwayReason | None:
        """Write what one conversation says; return why the server ends it, if it does."""
        away: AwayReason | None = None
        async for message in conversation.outbox:
            await self._tell(index, message)
            if isinstance(message, GoingAway):
                away = message.reason
        return away

    def _charge(self) -> None:
        """Count the audio that came for the caller's principal.

        Raises:
            QuotaError: he has sent more than he may.
        """
        heard_seconds = sum(conversation.audio_seconds for conversation in self._conversations)
        if heard_seconds > self._charged_seconds:
            self._quotas.charge_audio(heard_seconds - self._charged_seconds, self._principal)
            self._charged_seconds = heard_seconds
            self._quotas.check_audio(self._principal)

    async def _read(self, requests: AsyncIterator[RequestT]) -> None:
        """Hand requests on; what is wrong with one ends the stream through the outboxes."""
        try:
            with LifetimeWatch(self._input, self._limits) as lifetime:
                async for request in requests:
                    lifetime.touch()
                    await self._hand_on(request)
                    self._charge()
                await self._input.half_close()
        except Exception as error:  # noqa: BLE001 - the writers report it to the caller
            self._input.fail(error)
