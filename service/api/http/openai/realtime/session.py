"""Session: client events become calls of a conversation, and its messages events."""

from __future__ import annotations

import asyncio
import dataclasses
import secrets
from typing import TYPE_CHECKING

from pipelines import messages
from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import InvalidInputError
from service.api.http.openai.realtime import client_events as events
from service.api.http.openai.realtime.items import to_item
from service.api.http.openai.realtime.server_events import COMMITTED, Teller
from service.api.http.openai.realtime.session_form import is_nvidias, merged, to_beta
from service.api.http.openai.realtime.settings import Settings, to_settings
from service.api.http.openai.realtime.tools import tool_result_of
from service.api.http.openai.realtime.user_items import CLEARED
from service.refusals import IdleStreamError, MessageTooLargeError
from service.sessions.stream_session import StreamSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.session.conversation import Conversation
    from service.api.http.openai.realtime.sending import EventSender
    from service.api.http.openai.realtime.session_form import Session
    from service.api.http.openai.realtime.transport import Transport
    from service.sessions.host import SessionHost

MIN_COMMITTED_SAMPLES = MODEL_RATE_HZ // 10
"""Of audio that is committed: OpenAI's own service takes no less."""
_REFUSED = frozenset((messages.AwayReason.SHUTDOWN, messages.AwayReason.AGE))
_OF_CONVERSATION = (
    events.AppendAudio,
    events.CommitAudio,
    events.ClearAudio,
    events.FinishAudio,
    events.CreateResponse,
)
"""Events for which a conversation is begun."""


class RealtimeSession:
    """One session.

    Args:
        host: makes the conversations.
        sender: sends events.
        transport: the client.
        session: how it begins.
    """

    def __init__(
        self,
        host: SessionHost,
        sender: EventSender,
        transport: Transport,
        session: Session,
    ) -> None:
        self._host, self._sender, self._transport = host, sender, transport
        self._session = session
        self._settings = self._read(session)
        self._decoder = AudioDecoder(self._settings.audio_format)
        self._teller = Teller(host, sender, self._settings, transport.tracks)
        self._reopens = self._is_nvidias = self._is_over = False

    def _read(self, session: Session) -> Settings:
        settings, tracks = to_settings(session, self._host), self._transport.tracks
        return settings if tracks is None else settings.on_tracks(tracks.heard, tracks.spoken)

    async def run(self) -> None:
        """Return when the client is gone, or say that no audio follows.

        Raises:
            IdleStreamError: nothing was sent for too long.
            ModelError: recognition failed.
            NotReadyError: the server shuts down.
            OldStreamError: the session has lasted as long as one may.
            QuotaError: the caller's principal has sent more than he may.
        """
        kind = "transcription_session.created" if self._is_beta_transcription else "session.created"
        await self._sender.send(kind, session=self._shown())
        if self._sender.is_beta and self._settings.replies:
            conversation = {"id": self._teller.conversation_id, "object": "realtime.conversation"}
            await self._sender.send("conversation.created", conversation=conversation)
        try:
            while not self._is_over and (event := await self._next()) is not None:
                if isinstance(event, _OF_CONVERSATION):
                    await self._converse(event)
                else:
                    await self._hand_on(event)
                    if self._settings.agent and isinstance(event, events.UpdateSession):
                        # The agent has the first word.
                        await self._converse(None)
        finally:
            self._teller.close()

    async def _next(self) -> events.ClientEvent | None:
        """Wait for the next event outside of a conversation; None at the end.

        Raises:
            IdleStreamError: none came for too long.
        """
        try:
            async with asyncio.timeout(self._host.limits.idle_seconds):
                return await self._readable()
        except TimeoutError:
            raise IdleStreamError from None

    async def _readable(self) -> events.ClientEvent | None:
        """Wait for the next event that can be read; None when the client is gone."""
        while True:
            try:
                return await self._transport.receive()
            except events.BadEventError as error:
                await self._sender.error(error, error.event_id)

    async def _converse(self, first: events.ClientEvent | None) -> None:
        """Hold one conversation, until the client is gone or wants another kind of it."""
        host, settings, teller = self._host, self._settings, self._teller
        self._reopens = False
        teller.change(settings)
        chosen = settings.dialog
        async with host.dialogs.open(settings.agent, chosen.id, chosen.parameters) as dialog:
            config = dataclasses.replace(settings.config, dialog=dialog)
            conversation = host.conversation(config, name=secrets.token_hex(6))
            await self._hold(conversation, first, greeting=dialog.greeting if dialog else "")
        await teller.end_conversation(conversation.audio_seconds)
        if self._is_nvidias and self._is_over:
            await teller.tell_last()
        self._is_over = not self._reopens

    async def _hold(self, conversation: Conversation, first: events.ClientEvent | None, greeting: str) -> None:
        host, teller = self._host, self._teller
        async with host.open_conversations.holding(conversation):
            teller.conversation = conversation
            if greeting and not self._settings.speaks:
                await teller.greet(greeting)
            conversation.dialog.begin()
            quotas = host.admission.quotas
            stream = StreamSession(
                conversation, (conversation,), host.limits, self._hand_on, teller.tell, quotas, _REFUSED
            )
            await stream.run(self._requests(first))

    async def _requests(self, first: events.ClientEvent | None) -> AsyncIterator[events.ClientEvent]:
        """Yield events for the present conversation."""
        if first is not None:
            yield first
        while not self._reopens and not self._is_over:
            event = await self._readable()
            if event is None:
                # Nobody is there whom the rest could be told.
                self._teller.present_conversation().finish()
                return
            yield event

    async def _hand_on(self, event: events.ClientEvent) -> None:
        """Act on an event; what is wrong with one is told, and the session goes on."""
        try:
            await self._act(event)
        except (InvalidInputError, MessageTooLargeError) as error:
            await self._sender.error(error, event.event_id)

    async def _act(self, event: events.ClientEvent) -> None:
        match event:
            case events.AppendAudio():
                await self._append(event)
            case events.CommitAudio():
                await self._commit()
            case events.ClearAudio():
                await self._clear()
            case events.FinishAudio():
                self._is_over = True
            case events.UpdateSession() | events.UpdateTranscriptionSession():
                await self._update(event)
            case events.CreateItem():
                item = to_item(event.item)
                before = self._teller.items.add(item, event.previous_item_id)
                await self._sender.send("conversation.item.added", previous_item_id=before, item=item.as_json())
                await self._sender.send("conversation.item.done", previous_item_id=before, item=item.as_json())
                if (result := tool_result_of(item)) is not None and self._teller.conversation is not None:
                    self._teller.conversation.dialog.take(result)
            case events.RetrieveItem():
                item = self._teller.items.get(event.item_id)
                await self._sender.send("conversation.item.retrieved", item=item.as_json())
            case events.DeleteItem():
                self._teller.items.delete(event.item_id)
                await self._sender.send("conversation.item.deleted", item_id=event.item_id)
            case events.TruncateItem():
                await self._truncate(event)
            case events.CreateResponse():
                await self._teller.create_response(event)
            case events.CancelResponse() | events.ClearOutput():
                self._teller.cancel_response(event)

    async def _append(self, event: events.AppendAudio) -> None:
        conversation = self._teller.present_conversation()
        try:
            for samples in self._decoder.decode(event.audio):
                self._teller.uncommitted += len(samples)
                await conversation.add_samples(samples)
        except InvalidInputError:
            self._decoder = AudioDecoder(self._settings.audio_format)
            raise
        if str(event.runtime_config.get("force_eou", "")).lower() == "true":
            self._end_utterance()

    async def _commit(self) -> None:
        if self._is_nvidias:
            return  # NVIDIA's client commits every piece.
        if self._teller.uncommitted < MIN_COMMITTED_SAMPLES:
            milliseconds = 1000 * self._teller.uncommitted // MODEL_RATE_HZ
            message = f"the buffer has {milliseconds} ms of audio: append at least 100 ms before you commit it"
            raise InvalidInputError("input_audio_buffer", "INPUT_AUDIO_BUFFER_COMMIT_EMPTY", message)
        self._end_utterance()

    def _end_utterance(self) -> None:
        self._teller.commits += 1
        self._teller.present_conversation().end_utterance(COMMITTED)

    async def _clear(self) -> None:
        self._teller.uncommitted = 0
        conversation = self._teller.present_conversation()
        conversation.end_utterance(CLEARED)
        await self._sender.send("input_audio_buffer.cleared")

    async def _update(self, event: events.UpdateSession | events.UpdateTranscriptionSession) -> None:
        changes = event.session
        is_transcription = isinstance(event, events.UpdateTranscriptionSession)
        if is_transcription:
            changes = {"type": "transcription", **changes}
        session = merged(self._session, changes)
        settings, before = self._read(session), self._settings
        held = self._teller.conversation
        update = None if held is None else settings.update_from(before)
        if held is not None and update is not None:
            held.update(update)
        self._session, self._settings = session, settings
        if held is None or update is not None:
            self._teller.change(settings)
        else:
            # What the present conversation still tells is told as before.
            self._reopens = True
        if settings.audio_format != before.audio_format:
            self._decoder = AudioDecoder(settings.audio_format)
        if is_transcription:
            self._is_nvidias = is_nvidias(event.session)
            shown = {**event.session, **self._shown()} if self._is_nvidias else self._shown()
            shown.pop("client_secret", None)
            await self._sender.send("transcription_session.updated", session=shown)
        else:
            await self._sender.send("session.updated", session=self._shown())

    async def _truncate(self, event: events.TruncateItem) -> None:
        item = self._teller.items.get(event.item_id)
        if item.kind != "output_audio":
            message = "the item has no audio of ours: only what was spoken can be cut off"
            raise InvalidInputError("item_id", "INVALID_VALUE", message)
        if event.audio_end_ms < 0 or event.content_index != 0:
            message = "audio_end_ms and content_index are 0 or more, and there is one content: send 0 for its index"
            raise InvalidInputError("audio_end_ms", "INVALID_VALUE", message)
        item.cut(event.audio_end_ms / 1000)
        turn, held = self._teller.responder.turn_of(item), self._teller.conversation
        if turn is not None and held is not None and self._settings.speaks:
            held.speech.stop_at(turn, event.audio_end_ms / 1000)
        await self._sender.send(
            "conversation.item.truncated",
            item_id=item.id,
            content_index=0,
            audio_end_ms=event.audio_end_ms,
        )

    @property
    def _is_beta_transcription(self) -> bool:
        return self._sender.is_beta and not self._settings.replies

    def _shown(self) -> Session:
        return to_beta(self._session) if self._sender.is_beta or self._is_nvidias else self._session
