"""Playback of spoken replies on a track, told in events."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from pipelines import messages
from pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pipelines.session.conversation import Conversation
    from service.api.http.openai.realtime.items import Item
    from service.api.http.openai.realtime.responses import Responder
    from service.api.http.openai.realtime.sending import EventSender
    from service.sessions.reply_queue import ReplyQueue


class TrackPlayback:
    """Spoken replies on a track.

    Args:
        sender: sends the events.
        speech: takes the audio.

    Attributes:
        conversation: whose replies are played; None before the first.
        turn: whose reply is played; 0 for none.
    """

    def __init__(self, sender: EventSender, speech: ReplyQueue) -> None:
        self._sender, self._speech = sender, speech
        speech.on_played = self._played
        self.conversation: Conversation | None = None
        self.turn = 0
        self._responses: dict[int, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def play(self, audio: messages.ReplyAudio, response_id: str) -> None:
        """Queue a piece of a reply, which a response tells."""
        self._responses[audio.turn] = response_id
        self._speech.add(audio.turn, audio.start_seconds, audio.audio, is_last=audio.is_last)

    async def follow(self, message: messages.Message, responder: Responder) -> None:
        """Hold, resume or drop a reply as the conversation says."""
        match message:
            case messages.ReplyHeld(turn):
                self._speech.hold(turn)
            case messages.ReplyResumed(turn):
                self._speech.resume(turn)
            case messages.Interrupted(turn):
                await self._drop(message, responder.item_of(turn))

    async def _drop(self, interrupted: messages.Interrupted, item: Item | None) -> None:
        self._speech.drop(interrupted.turn)
        response = self._responses.pop(interrupted.turn, None)
        if self.turn == interrupted.turn:
            self.turn = 0
            await self._sender.send("output_audio_buffer.cleared", response_id=response)
        if item is not None:
            heard = round(1000 * interrupted.heard_seconds)
            await self._sender.send("conversation.item.truncated", item_id=item.id, content_index=0, audio_end_ms=heard)

    def close(self) -> None:
        """Play nothing more."""
        self._speech.drop()
        self.turn = 0
        self._responses.clear()
        for task in self._tasks:
            task.cancel()

    def _played(self, turn: int, seconds: float, is_all: bool) -> None:
        if self.conversation is not None:
            # What was interrupted meanwhile is played no more.
            with contextlib.suppress(PipelineError):
                self.conversation.speech.report_playback(turn, seconds, finished=is_all)
        if turn != self.turn:
            self.turn = turn
            self._tell("started", self._responses.get(turn))
        if is_all:
            self.turn = 0
            self._tell("stopped", self._responses.pop(turn, None))

    def _tell(self, change: str, response_id: str | None) -> None:
        sending = self._sender.send(f"output_audio_buffer.{change}", response_id=response_id)
        task = asyncio.get_running_loop().create_task(sending)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
