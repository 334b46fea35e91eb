"""Session: I/O between a client, the door and its conversations."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import secrets
from typing import TYPE_CHECKING, Any

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.messages import AwayReason
from pipelines.errors import InvalidInputError, PipelineError
from service.admission.memory_shares import CONVERSATION_ITEMS
from service.api.http.nvidia import dialect as nvidia
from service.api.http.openai.realtime import client_events as events
from service.api.http.openai.realtime import door
from service.api.http.openai.realtime.settings import Settings, to_settings
from service.api.http.openai.realtime.state import AwaitSilence, ChangePlayback, Moment, Play, State, Tell
from service.api.http.openai.realtime.unspoken_audio import UnspokenAudio
from service.refusals import IdleStreamError, MessageTooLargeError, TooMuchMemoryError
from service.security.principal import current_principal
from service.sessions.commands import AddAudio, AddText, ReportPlayback, act, add_text
from service.sessions.driver import Opening, converse_in_place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.messages import Message
    from pipelines.session.conversation import Conversation
    from service.api.http.openai.realtime.door import Result
    from service.api.http.openai.realtime.sending import EventSender
    from service.api.http.openai.realtime.session_form import Session
    from service.api.http.openai.realtime.state import Output
    from service.api.http.openai.realtime.transport import Transport
    from service.sessions.commands import Command
    from service.sessions.host import SessionHost

_REFUSED = frozenset((AwayReason.SHUTDOWN, AwayReason.AGE))
_OF_CONVERSATION = (
    events.AppendAudio,
    events.CommitAudio,
    events.ForceCommit,
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

    def __init__(self, host: SessionHost, sender: EventSender, transport: Transport, session: Session) -> None:
        self._host, self._sender, self._transport = host, sender, transport
        self._usual = sender.dialect
        settings = self._settings(session)
        on_track = transport.tracks is not None
        self._state = State(secrets.token_hex(9), session, settings, settings, on_track=on_track)
        self._decoder = AudioDecoder(settings.audio_format)
        self._conversation: Conversation | None = None
        # Audio that no utterance of the present conversation has, for the next one.
        self._loose = UnspokenAudio()
        self._loop = asyncio.get_running_loop()
        self._owner = current_principal().key
        self._idle_timer: asyncio.TimerHandle | None = None
        self._unsent: collections.deque[Tell] = collections.deque()
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        if transport.tracks is not None:
            transport.tracks.speech.on_played = self._played

    def _settings(self, session: Session) -> Settings:
        settings, tracks = to_settings(session, self._host), self._transport.tracks
        return settings if tracks is None else settings.on_tracks(tracks.heard, tracks.spoken)

    async def run(self) -> None:
        """Return when the client is gone, or says that no audio follows.

        Raises:
            IdleStreamError: nothing was sent for too long.
            ModelError: recognition failed.
            NotReadyError: the server shuts down.
            OldStreamError: the session has lasted as long as one may.
            QuotaError: the caller's principal has sent more than he may.
        """
        await self._carry_out(door.started(self._state))
        try:
            while not self._state.is_over and (event := await self._next()) is not None:
                if isinstance(event, _OF_CONVERSATION):
                    await self._converse(event)
                else:
                    await self.take(event)
                    if self._state.settings.agent and isinstance(event, events.UpdateSession):
                        # The agent has the first word.
                        await self._converse(None)
        finally:
            self._await_silence(None)
            self._change_playback(ChangePlayback("drop"))
            for task in self._tasks:
                task.cancel()
            CONVERSATION_ITEMS.release(self)

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
                event = await self._transport.receive()
            except events.BadEventError as error:
                await self._sender.error(error, error.event_id)
                continue
            if event is not None:
                self._sender.dialect = nvidia.chosen(event, self._sender.dialect, self._usual)
            return event

    async def _converse(self, first: events.ClientEvent | None) -> None:
        """Hold one conversation, until the client is gone or wants another kind of it."""
        settings = self._state.settings
        opening = Opening(settings.config, settings.agent, settings.dialog.id, settings.dialog.parameters)
        await converse_in_place(self._host, opening, self, self._requests(first), _REFUSED)
        moment, held, self._conversation = self._moment(), self._conversation, None
        carried = self._loose.end(self._taken_to(held)) if held is not None and self._state.reopens else 0
        moment = dataclasses.replace(moment, heard=moment.heard - carried)
        await self._carry_out(door.closed(self._state, moment))
        if self._state.is_over:
            await self._sender.send_all(self._sender.dialect.end())

    async def _requests(self, first: events.ClientEvent | None) -> AsyncIterator[events.ClientEvent]:
        """Yield events for the present conversation."""
        if first is not None:
            yield first
        while not self._state.reopens and not self._state.is_over:
            event = await self._readable()
            if event is None:
                # Nobody is there whom the rest could be told.
                if self._conversation is not None:
                    self._conversation.finish()
                return
            yield event

    async def opened(self, conversation: Conversation, greeting: str) -> None:
        """Take a conversation; see `Door`."""
        self._conversation = conversation
        await self._carry_out(door.opened(self._state, greeting))
        for samples in self._loose.take():
            await self._hear(conversation, samples)

    async def take(self, event: events.ClientEvent) -> None:
        """Act on an event; what is wrong with one is told, and the session goes on."""
        try:
            for meant in self._sender.dialect.read(event):
                await self._carry_out(door.read(self._state, meant, self._moment(), self._settings))
        except (InvalidInputError, MessageTooLargeError) as error:
            await self._sender.error(error, event.event_id)

    async def tell(self, _: int, message: Message) -> None:
        """Tell what the conversation says; see `Door`."""
        await self._carry_out(door.write(self._state, message, self._moment()))

    def _moment(self) -> Moment:
        held = self._conversation
        heard = 0 if held is None else round(held.audio_seconds * MODEL_RATE_HZ)
        return Moment(self._loop.time(), heard, None if held is None else held.last_failure)

    async def _carry_out(self, result: Result) -> None:
        """Go to the next state, and do what is to be done.

        Raises:
            InvalidInputError: it cannot be done; the state stays as it was.
        """
        waiting = self._adopt(*result)
        for command in waiting:
            if isinstance(command, AddAudio):
                await self._add_audio(command.audio)
            elif held := self._conversation:
                await add_text(held, command, self._host.admission.quotas)
        await self._send()

    def _adopt(self, state: State, outputs: Sequence[Output | Command]) -> list[AddAudio | AddText]:
        """Go to a state; return the commands that take time."""
        waiting: list[AddAudio | AddText] = []
        told: list[Tell] = []
        for output in outputs:
            match output:
                case Tell():
                    told.append(output)
                case AddAudio() | AddText():
                    waiting.append(output)
                case Play(audio) if self._transport.tracks is not None:
                    speech = self._transport.tracks.speech
                    speech.add(audio.turn, audio.start_seconds, audio.audio, is_last=audio.is_last)
                case ChangePlayback():
                    self._change_playback(output)
                case AwaitSilence(seconds):
                    self._await_silence(seconds)
                case ReportPlayback() if self._conversation is not None:
                    # What was interrupted meanwhile is played no more.
                    with contextlib.suppress(PipelineError):
                        act(self._conversation, output)
                case _ if self._conversation is not None:
                    act(self._conversation, output)  # type: ignore[arg-type]  # the others are above
        before, self._state = self._state, state
        self._unsent += told
        if state.settings.audio_format != before.settings.audio_format:
            self._decoder = AudioDecoder(state.settings.audio_format)
        if state.items.bytes > before.items.bytes:
            self._hold_items()
        return waiting

    async def _add_audio(self, audio: bytes) -> None:
        assert self._conversation is not None
        try:
            for samples in self._decoder.decode(audio):
                await self._hear(self._conversation, samples)
        except InvalidInputError:
            self._decoder = AudioDecoder(self._state.settings.audio_format)
            raise

    async def _hear(self, conversation: Conversation, samples: npt.NDArray[np.float32]) -> None:
        self._loose.add(samples, self._taken_to(conversation))
        await conversation.add_samples(samples)

    def _taken_to(self, conversation: Conversation) -> int:
        """Return one past the last sample that belongs to an utterance, or was cleared."""
        return max(conversation.state.floor, self._state.uncommitted_from)

    async def _send(self) -> None:
        """Send what is not sent yet, in order, whoever waits for it."""
        async with self._sending:
            while self._unsent:
                event = self._unsent.popleft()
                members = dict(event.members)
                if event.kind == "rate_limits.updated":
                    members["rate_limits"] = self._rate_limits()
                await self._sender.send(event.kind, **members)

    def _hold_items(self) -> None:
        """Forget the oldest items that the principal has no room for."""
        while self._state.items.all:
            items = self._state.items
            with contextlib.suppress(TooMuchMemoryError):
                CONVERSATION_ITEMS.hold(self, self._owner, items.bytes)
                return
            if len(items.all) == 1:
                return
            self._state = dataclasses.replace(self._state, items=items.without(items.all[0]))

    def _change_playback(self, output: ChangePlayback) -> None:
        tracks, turn = self._transport.tracks, output.turn
        if tracks is None:
            return
        if output.change == "drop" or turn is None:
            tracks.speech.drop(turn)
        elif output.change == "hold":
            tracks.speech.hold(turn)
        else:
            tracks.speech.resume(turn)

    def _await_silence(self, seconds: float | None) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        timed_out = lambda: self._beside(door.timed_out(self._state, self._moment()))  # noqa: E731
        self._idle_timer = None if seconds is None else self._loop.call_later(seconds, timed_out)

    def _played(self, turn: int, seconds: float, is_all: bool) -> None:
        self._beside(door.played(self._state, turn, seconds, is_all=is_all))

    def _beside(self, result: Result) -> None:
        """Do what is to be done outside of requests and messages."""
        self._adopt(*result)
        if self._unsent:
            task = self._loop.create_task(self._send())
            self._tasks.add(task)
            task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Whoever reads or writes hears of a client that is gone.
            task.exception()

    def _rate_limits(self) -> list[dict[str, Any]]:
        """Return the principal's rate limits in OpenAI's form."""
        principal = current_principal()
        most = principal.limits.conversations
        if most is None:
            return []
        left = max(0, most - self._host.admission.quotas.open_conversations(principal))
        return [{"name": "requests", "limit": most, "remaining": left, "reset_seconds": 0.0}]
