"""Server events of a session: conversation messages and requested responses."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from pipelines import messages
from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.dialog.turn import Cause
from pipelines.errors import InvalidInputError, ModelError
from pipelines.stages.registry import SPEECH
from service.api.http.openai.realtime import client_events as events
from service.api.http.openai.realtime.client_requests import ResponseRequest, to_response_request
from service.api.http.openai.realtime.items import Item, Items
from service.api.http.openai.realtime.responses import Responder, Response
from service.api.http.openai.realtime.sending import new_id
from service.api.http.openai.realtime.track_playback import TrackPlayback
from service.api.http.openai.realtime.user_items import CLEARED, Listener
from service.api.http.problems import problem_of
from service.security.principal import current_principal

if TYPE_CHECKING:
    from pipelines.session.conversation import Conversation
    from service.api.http.openai.realtime.sending import EventSender
    from service.api.http.openai.realtime.settings import Settings
    from service.api.http.openai.realtime.transport import Tracks
    from service.sessions.host import SessionHost

COMMITTED = "commit"
"""Request id of an utterance that the client has ended."""


class Teller:
    """Tells what the conversations of a session say.

    Args:
        host: has the limits of callers.
        sender: sends events.
        settings: what the session asks for.
        tracks: where its audio goes; None: into events.

    Attributes:
        settings: the same, as long as it does not change.
        conversation: the present conversation; None where none is held.
        conversation_id: the session's name for all of them.
        items: what was said by whom.
        listener: tells what is heard.
        responder: tells replies.
        uncommitted: samples of audio since the last utterance, 16 kHz.
        commits: utterances that the client has ended, and that are not recognized yet.
    """

    def __init__(
        self, host: SessionHost, sender: EventSender, settings: Settings, tracks: Tracks | None = None
    ) -> None:
        self._host, self._sender, self.settings = host, sender, settings
        self._loop = asyncio.get_running_loop()
        self.conversation: Conversation | None = None
        self.conversation_id = new_id("conv")
        self.items = Items()
        self.listener = Listener(sender, self.items)
        self._playback = None if tracks is None else TrackPlayback(sender, tracks.speech)
        self.responder = Responder(
            sender, self.items, self.conversation_id, self._loop.time, self._rate_limits, sends_audio=tracks is None
        )
        self.uncommitted = self.commits = 0
        self._asked: ResponseRequest | None = None
        self._requested: dict[str, Response] = {}
        self._late: dict[int, Response] = {}
        self._idle_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.change(settings)

    def change(self, settings: Settings) -> None:
        """Tell from now on what other settings ask for."""
        self.settings = settings
        self.listener.transcribes = settings.transcribes
        self.listener.detects = settings.detection is not None

    def present_conversation(self) -> Conversation:
        """Return the present conversation."""
        assert self.conversation is not None
        return self.conversation

    def close(self) -> None:
        """Tell nothing more."""
        self._stop_idle_timer()
        if self._playback is not None:
            self._playback.close()
        for task in self._tasks:
            task.cancel()
        self.items.close()

    async def end_conversation(self, seconds: float) -> None:
        """Close a conversation of so many seconds; the next counts turns anew."""
        self.conversation = None
        self.commits = 0
        self._asked = None
        self._requested.clear()
        self._late.clear()
        self.listener.offset += round(seconds * MODEL_RATE_HZ)
        self.listener.forget()
        if self._playback is not None:
            self._playback.close()
        await self.responder.end_all()

    async def create_response(self, event: events.CreateResponse) -> None:
        """Have what was said last answered; where it is not recognized yet, once it is.

        Raises:
            InvalidInputError: there is nothing to answer, or a response is under way.
        """
        if not self.settings.replies:
            message = "a transcription session makes no responses: update it to a realtime session"
            raise InvalidInputError("type", "NO_RESPONSES", message)
        if self.responder.active is not None or self._asked is not None or self._requested or self._late:
            message = "a response is under way: wait for response.done, or cancel it"
            raise InvalidInputError("response", "CONVERSATION_ALREADY_HAS_ACTIVE_RESPONSE", message)
        request = to_response_request(event, speaks=self.settings.speaks)
        if request.text:
            await self._ask(request, request.text)
            return
        if self.commits or self.listener.awaits_text:
            # Where the end of a turn makes a response, it comes without being asked for.
            self._asked = None if self.settings.responds else request
            return
        item = self.items.unanswered
        if item is None and self.settings.agent and self.items.ends_with_result:
            # Other services answer the result of a tool when they are asked to; an agent does it by itself.
            return
        if item is None or not item.text:
            message = "nothing that the user said waits for a response: create an item, or commit audio, before"
            raise InvalidInputError("response", "NOTHING_TO_ANSWER", message)
        item.is_answered = True
        await self._ask(request, item.text)

    async def greet(self, text: str) -> None:
        """Tell the first words of an agent, where they are not spoken."""
        item = Item(new_id("item"), "assistant", "output_text", text)
        before = self.items.add(item)
        await self._sender.send("conversation.item.added", previous_item_id=before, item=item.as_json())
        await self._sender.send("conversation.item.done", previous_item_id=before, item=item.as_json())

    async def _ask(self, request: ResponseRequest, text: str) -> None:
        response = Response(metadata=request.metadata, modality=request.modality)
        await self._host.admission.quotas.typed_turn()
        self._requested[response.id] = response
        await self.present_conversation().add_text(text, response.id)

    def cancel_response(self, event: events.CancelResponse | events.ClearOutput) -> None:
        """Stop the response that is told.

        Raises:
            InvalidInputError: there is none.
        """
        active = self.responder.active
        self._asked = None
        if active is None or active.reply is None:
            late = self._late if self.settings.speaks else ()
            for turn in late:
                self.present_conversation().speech.cancel(turn)
            was_late, self._late = bool(self._late), {}
            if self._playback is not None and self._playback.turn:
                # The response is done, and not yet heard.
                self.present_conversation().speech.cancel(self._playback.turn)
                return
            if was_late or isinstance(event, events.ClearOutput):
                return
            message = "no response is under way: there is nothing to cancel"
            raise InvalidInputError("response_id", "RESPONSE_CANCEL_NOT_ACTIVE", message)
        self.present_conversation().speech.cancel(active.reply.turn)

    async def tell(self, _: int, message: messages.Message) -> None:
        """Tell what the conversation says."""
        listener, conversation = self.listener, self.present_conversation()
        if self._playback is not None:
            await self._playback.follow(message, self.responder)
        match message:
            case messages.SpeechBegan():
                self._stop_idle_timer()
                if self.settings.replies and not self.settings.responds and self.settings.speaks:
                    # A response is made when it is asked for.
                    conversation.speech.cancel(message.turn)
                await listener.began(message)
            case messages.Transcript(is_final=False):
                await listener.partial(message)
            case messages.SpeechPaused():
                await listener.partial(message.transcript())
            case messages.SpeechEnded():
                self.uncommitted = 0
                await listener.ended(message)
            case messages.Transcript():
                await self._transcribed(message)
            case messages.Reply():
                await self._replied(message)
            case messages.ReplyAudio():
                await self._spoke(message)
            case messages.Interrupted():
                await self.responder.interrupt(message)
            case messages.Notice():
                await self._noticed(message)
            case messages.ToolCall():
                await self.responder.begin_call(message)

    async def _spoke(self, audio: messages.ReplyAudio) -> None:
        await self._begin_early(audio.turn)
        active = self.responder.active
        if self._playback is not None and active is not None and active.reply and active.reply.turn == audio.turn:
            self._playback.conversation = self.conversation
            self._playback.play(audio, active.id)
        await self.responder.speak(audio)
        if audio.is_last:
            self._start_idle_timer()

    async def _transcribed(self, transcript: messages.Transcript) -> None:
        item = await self.listener.final(transcript)
        self.commits -= transcript.request_id == COMMITTED
        if item is not None:
            await self._answer_if_asked()

    async def _answer_if_asked(self) -> None:
        request, item = self._asked, self.items.unanswered
        if request is None:
            return
        self._asked = None
        if item is not None and item.text:
            item.is_answered = True
            await self._ask(request, item.text)
            return
        message = "nothing was said in the audio that was committed: there is nothing to answer"
        await self._sender.error(InvalidInputError("response", "NOTHING_TO_ANSWER", message), request.event_id)

    async def _replied(self, reply: messages.Reply) -> None:
        response = self._late.pop(reply.turn, None) if reply.completes else self._response_to(reply)
        by_itself = reply.dialog is not None and reply.dialog.cause is not Cause.TURN
        is_whole = reply.status is not messages.Status.PARTIAL
        if response is None or (is_whole and not (reply.speech_text if by_itself else reply.transcript)):
            return
        if not is_whole:
            self._late[reply.turn], response.reply = response, reply
        if response.item is not None:
            await self.responder.complete(response, reply)
        elif is_whole or reply.speech_text:
            await self.responder.begin(response, reply, self.settings.config, is_whole=is_whole)
        if self.responder.active is None and is_whole:
            self._start_idle_timer()

    def _response_to(self, reply: messages.Reply) -> Response | None:
        """Return the response that a reply is told with; None where it is not told."""
        by_itself = reply.dialog is not None and reply.dialog.cause is not Cause.TURN
        if reply.request_id == CLEARED:
            return None
        response = self._requested.pop(reply.request_id, None)
        if response is None:
            if not self.settings.responds and not by_itself:
                return None
            item = None if by_itself else self.items.unanswered
            if item is not None:
                item.is_answered = True
            response = Response(modality="audio" if self.settings.speaks else "text")
        elif response.modality == "text" and self.settings.speaks:
            self.present_conversation().speech.cancel(reply.turn)
        return response

    async def _begin_early(self, turn: int) -> None:
        """Begin the response of a reply that is spoken before all of it is there."""
        response = self._late.get(turn)
        if response is not None and response.item is None and response.reply is not None:
            await self.responder.begin(response, response.reply, self.settings.config, is_whole=False)

    async def _noticed(self, notice: messages.Notice) -> None:
        if notice.code is messages.NoticeCode.NO_SPEECH:
            if notice.request_id == COMMITTED:
                self.commits -= 1
                seconds, self.uncommitted = self.uncommitted / MODEL_RATE_HZ, 0
                await self.listener.silence(seconds)
                await self._answer_if_asked()
        elif notice.code is messages.NoticeCode.TOOL_RESULT_IGNORED:
            await self._sender.error(InvalidInputError("item.call_id", notice.code.value, notice.message))
        elif notice.code is messages.NoticeCode.STAGE_FAILED:
            error = self.present_conversation().last_failure or ModelError(notice.message)
            told = problem_of(error).openai_error()
            await self.listener.failed(notice.turn, told)
            await self._sender.error(error)
            if notice.message.startswith(f"{SPEECH} "):
                await self.responder.fail(notice.turn, told)

    async def tell_last(self) -> None:
        """Tell NVIDIA's client that nothing follows, with all that was said."""
        await self._sender.send(
            "conversation.item.input_audio_transcription.completed",
            item_id=self.items.last_id or new_id("item"),
            content_index=0,
            transcript=" ".join(self.listener.texts),
            is_last_result=True,
        )

    def _start_idle_timer(self) -> None:
        """Wait for the client's idle time-out, from the end of playback."""
        detection = self.settings.detection
        if detection is None or detection.idle_timeout_ms is None:
            return
        self._stop_idle_timer()
        self._idle_timer = self._loop.call_later(detection.idle_timeout_ms / 1000, self._time_out)

    def _stop_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _time_out(self) -> None:
        task = self._loop.create_task(self._tell_time_out())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell_time_out(self) -> None:
        conversation, detection = self.conversation, self.settings.detection
        if conversation is None or detection is None or detection.idle_timeout_ms is None:
            return
        end = self.listener.offset * 1000 // MODEL_RATE_HZ + round(1000 * conversation.audio_seconds)
        with contextlib.suppress(OSError):
            await self._sender.send(
                "input_audio_buffer.timeout_triggered",
                audio_start_ms=max(0, end - detection.idle_timeout_ms),
                audio_end_ms=end,
                item_id=new_id("item"),
            )

    def _rate_limits(self) -> list[dict[str, Any]]:
        """Return the principal's rate limits in OpenAI's form."""
        principal = current_principal()
        most = principal.limits.conversations
        if most is None:
            return []
        left = max(0, most - self._host.admission.quotas.open_conversations(principal))
        return [{"name": "requests", "limit": most, "remaining": left, "reset_seconds": 0.0}]
