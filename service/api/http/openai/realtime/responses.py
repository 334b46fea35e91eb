"""Responses of a session: events of replies, one response after the other."""

from __future__ import annotations

import base64
import collections
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict

from pipelines.messages import InterruptionReason
from pipelines.stages.registry import StageRequest
from pipelines.stages.wording import answer_in_words
from service.api.http.openai.realtime.items import Item
from service.api.http.openai.realtime.sending import new_id
from service.api.http.openai.realtime.tools import call_item
from service.api.vivavoce.replies import to_reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.messages import Interrupted, Reply, ReplyAudio, ToolCall
    from pipelines.session.config import ConversationConfig
    from service.api.http.openai.realtime.items import Items
    from service.api.http.openai.realtime.sending import EventSender

_MAX_KNOWN_TURNS = 32
"""Turns whose reply may still be stopped."""

_NO_TOKENS = {"text_tokens": 0, "audio_tokens": 0}
USAGE = {
    "total_tokens": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "input_token_details": {
        **_NO_TOKENS,
        "image_tokens": 0,
        "cached_tokens": 0,
        "cached_tokens_details": {**_NO_TOKENS, "image_tokens": 0},
    },
    "output_token_details": _NO_TOKENS,
}
"""Nothing is counted in tokens here; clients want the numbers."""


@dataclass
class Response:
    """One response.

    Attributes:
        id: its name.
        metadata: what the client has put on it.
        modality: ``audio`` or ``text``.
        reply: what it tells; None while it is waited for.
        item: the item that it adds; None before.
        is_call: whether it asks for a tool, and has no reply.
        is_whole: whether nothing of the reply is to follow but audio.
        is_spoken: whether all of its audio was told.
    """

    id: str = field(default_factory=lambda: new_id("resp"))
    metadata: Any = None
    modality: str = "audio"
    reply: Reply | None = None
    item: Item | None = None
    is_call: bool = False
    is_whole: bool = True
    is_spoken: bool = False


class Responder:
    """Tells the replies of a conversation as responses.

    Args:
        sender: sends the events.
        items: the items of the conversation.
        conversation_id: its name.
        now: the conversation's clock.
        rate_limits: returns what the caller's principal has left.
        sends_audio: whether audio goes into events.

    Attributes:
        active: the response that is told; None where there is none.
        audio_ends_at: when the last response's audio will have been played, on the conversation's clock.
    """

    def __init__(
        self,
        sender: EventSender,
        items: Items,
        conversation_id: str,
        now: Callable[[], float],
        rate_limits: Callable[[], list[dict[str, Any]]],
        *,
        sends_audio: bool = True,
    ) -> None:
        self._sender, self._items, self._now = sender, items, now
        self._conversation_id = conversation_id
        self._rate_limits = rate_limits
        self._sends_audio = sends_audio
        self._waiting: collections.deque[Response] = collections.deque()
        self._by_turn: dict[int, Item] = {}
        self.active: Response | None = None
        self.audio_ends_at = 0.0

    async def begin(
        self, response: Response, reply: Reply, config: ConversationConfig, *, is_whole: bool = True
    ) -> None:
        """Tell a reply, or let it wait for the one that is spoken.

        Args:
            response: tells it.
            reply: to be told.
            config: of the conversation.
            is_whole: whether it is; otherwise it is spoken already, and :meth:`complete` follows.
        """
        response.reply, response.is_whole = reply, is_whole
        is_spoken = response.modality == "audio" and (bool(reply.speech_text) or not is_whole)
        text = reply.speech_text
        if response.modality == "text" and not text:
            text = answer_in_words(StageRequest(reply.transcript, config, reply.results, None))
        kind = "output_audio" if is_spoken else "output_text"
        response.item = Item(new_id("item"), "assistant", kind, text, "in_progress", self._extension(reply))
        if self.active is not None:
            self._waiting.append(response)
            return
        await self._open(response)

    async def complete(self, response: Response, reply: Reply) -> None:
        """Take the completion of a spoken reply; the response ends with its audio."""
        item = response.item
        assert item is not None
        response.reply, response.is_whole = reply, True
        item.extension = self._extension(reply)
        if item.text or item.status != "in_progress":
            fresh = ""
        else:
            fresh = item.text = reply.speech_text
        if response is self.active:
            if fresh:
                await self._tell_part("response.output_audio_transcript.delta", delta=fresh)
            if response.is_spoken:
                await self._close("completed")

    def _extension(self, reply: Reply) -> dict[str, Any]:
        return MessageToDict(to_reply(reply, self._now()), preserving_proto_field_name=True)

    async def begin_call(self, call: ToolCall) -> None:
        """Ask for a tool, as a response with a function call after the present one."""
        response = Response(modality="text", item=call_item(call), is_call=True)
        if self.active is not None:
            self._waiting.append(response)
            return
        await self._open(response)

    async def speak(self, audio: ReplyAudio) -> None:
        """Tell a piece of a spoken reply."""
        response = self.active
        if response is None or response.reply is None or response.reply.turn != audio.turn or not self._is_spoken:
            return
        assert response.item is not None
        if audio.audio and self._sends_audio:
            await self._tell_part("response.output_audio.delta", delta=base64.b64encode(audio.audio).decode())
        response.item.audio_seconds = audio.start_seconds
        response.is_spoken = audio.is_last
        if audio.is_last and response.is_whole:
            await self._close("completed")

    async def interrupt(self, interrupted: Interrupted) -> None:
        """End the response of a stopped reply, without what was not heard."""
        item = self.item_of(interrupted.turn)
        if item is not None and item.kind == "output_audio":
            item.text = interrupted.heard_text
            item.audio_seconds = interrupted.heard_seconds
        self._waiting = collections.deque(
            one for one in self._waiting if one.reply is None or one.reply.turn != interrupted.turn
        )
        response = self.active
        if response is not None and response.reply is not None and response.reply.turn == interrupted.turn:
            by_speech = interrupted.reason is InterruptionReason.SPEECH
            await self._close("cancelled", "turn_detected" if by_speech else "client_cancelled")

    def item_of(self, turn: int) -> Item | None:
        """Return the item of a turn's reply; None where it has none, or is long over."""
        return self._by_turn.get(turn)

    def turn_of(self, item: Item) -> int | None:
        """Return the turn whose reply an item is; None for one that is long over."""
        return next((turn for turn, known in self._by_turn.items() if known is item), None)

    async def fail(self, turn: int, error: dict[str, Any]) -> None:
        """End the response of a turn whose speech failed."""
        response = self.active
        if response is not None and response.reply is not None and response.reply.turn == turn and self._is_spoken:
            await self._close("failed", error=error)

    async def end_all(self) -> None:
        """End what is told: no audio follows."""
        while self.active is not None:
            await self._close("cancelled", "client_cancelled")

    @property
    def _is_spoken(self) -> bool:
        item = self.active.item if self.active else None
        return item is not None and item.kind == "output_audio"

    async def _open(self, response: Response) -> None:
        assert response.item is not None
        self.active, item = response, response.item
        if response.reply is not None:
            self._by_turn[response.reply.turn] = item
            self._by_turn.pop(response.reply.turn - _MAX_KNOWN_TURNS, None)
        send = self._sender.send
        await send("response.created", response=self._as_json(response, "in_progress"))
        await send("rate_limits.updated", rate_limits=self._rate_limits())
        empty: dict[str, Any] = {"arguments": ""} if response.is_call else {"content": []}
        opened = {**item.as_json(), **empty}
        await send("response.output_item.added", response_id=response.id, output_index=0, item=opened)
        before = self._items.add(item)
        await send("conversation.item.added", previous_item_id=before, item=opened)
        if response.is_call:
            await self._tell_call(response, item)
        elif item.text or self._is_spoken:
            await self._tell_part("response.content_part.added", part=self._part(""))
            name = "response.output_audio_transcript" if self._is_spoken else "response.output_text"
            if item.text:
                await self._tell_part(f"{name}.delta", delta=item.text)
        if not self._is_spoken:
            await self._close("completed")

    async def _tell_call(self, response: Response, item: Item) -> None:
        called = item.raw or {}
        place = {"response_id": response.id, "item_id": item.id, "output_index": 0, "call_id": called["call_id"]}
        name = "response.function_call_arguments"
        await self._sender.send(f"{name}.delta", **place, delta=called["arguments"])
        await self._sender.send(f"{name}.done", **place, name=called["name"], arguments=called["arguments"])

    async def _close(self, status: str, reason: str | None = None, error: dict[str, Any] | None = None) -> None:
        response = self.active
        assert response is not None
        item = response.item
        assert item is not None
        item.status = "completed" if status == "completed" else "incomplete"
        if not response.is_call and (item.text or self._is_spoken):
            if self._is_spoken:
                await self._tell_part("response.output_audio.done")
                await self._tell_part("response.output_audio_transcript.done", transcript=item.text)
            else:
                await self._tell_part("response.output_text.done", text=item.text)
            await self._tell_part("response.content_part.done", part=self._part(item.text or ""))
        send = self._sender.send
        await send("response.output_item.done", response_id=response.id, output_index=0, item=item.as_json())
        await send("conversation.item.done", previous_item_id=None, item=item.as_json())
        details = {"type": status, "reason": reason} if reason else {"type": status, "error": error} if error else None
        await send("response.done", response=self._as_json(response, status, details))
        self.active = None
        if self._waiting:
            await self._open(self._waiting.popleft())

    async def _tell_part(self, kind: str, **members: Any) -> None:  # noqa: ANN401 - JSON
        assert self.active is not None
        assert self.active.item is not None
        place = {
            "response_id": self.active.id,
            "item_id": self.active.item.id,
            "output_index": 0,
            "content_index": 0,
        }
        await self._sender.send(kind, **place, **members)

    def _part(self, text: str) -> dict[str, Any]:
        return {"type": "audio", "transcript": text} if self._is_spoken else {"type": "text", "text": text}

    def _as_json(self, response: Response, status: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
        assert response.item is not None
        is_over = status != "in_progress"
        modalities = [response.modality]
        found: dict[str, Any] = {
            "object": "realtime.response",
            "id": response.id,
            "status": status,
            "status_details": details,
            "output": [response.item.as_json()] if is_over else [],
            "conversation_id": self._conversation_id,
            "output_modalities": modalities,
            "max_output_tokens": "inf",
            "usage": USAGE if is_over else None,
            "metadata": response.metadata,
        }
        if self._sender.is_beta:
            found["modalities"] = ["text", "audio"] if response.modality == "audio" else ["text"]
        return found
