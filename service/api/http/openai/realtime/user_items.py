"""User items of a session: events of speech and transcripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.messages import EndReason
from service.api.http.openai.realtime.items import Item
from service.api.http.openai.realtime.sending import new_id
from service.api.http.openai.transcripts import usage_of

if TYPE_CHECKING:
    from pipelines.messages import SpeechBegan, SpeechEnded, Transcript
    from service.api.http.openai.realtime.items import Items
    from service.api.http.openai.realtime.sending import EventSender

CLEARED = "clear"
"""Request id of an utterance that the client drops."""


@dataclass
class _Utterance:
    """One turn of the user.

    Attributes:
        start: its first sample, 16 kHz.
        item: the item that it becomes.
        before: words of the last transcript that may still change.
        told: words that were told.
        is_committed: whether the item was added.
        is_told: whether it was told that speech started.
    """

    start: int
    item: Item = field(default_factory=lambda: Item(new_id("item"), "user", "input_audio", None, "in_progress"))
    before: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    is_committed: bool = False
    is_told: bool = False


class Listener:
    """Tells what is heard.

    Args:
        sender: sends the events.
        items: the items of the conversation.

    Attributes:
        detects: whether the server finds out when speech starts and stops.
        transcribes: whether transcripts are told.
        offset: sample of the session at which the present conversation begins, 16 kHz.
        texts: the transcripts of all utterances.
    """

    def __init__(self, sender: EventSender, items: Items) -> None:
        self._sender, self._items = sender, items
        self._utterances: dict[int, _Utterance] = {}
        self.detects = self.transcribes = True
        self.offset = 0
        self.texts: list[str] = []

    @property
    def awaits_text(self) -> bool:
        """True if speech is not recognized yet."""
        return any(utterance.is_committed for utterance in self._utterances.values())

    def forget(self) -> None:
        """Forget all utterances: a new conversation counts its turns anew."""
        self._utterances.clear()

    async def began(self, began: SpeechBegan) -> None:
        """Tell that speech starts, also over a response: clients then stop playing it."""
        utterance = self._utterances[began.turn] = _Utterance(began.start, is_told=self.detects)
        if utterance.is_told:
            await self._sender.send(
                "input_audio_buffer.speech_started",
                audio_start_ms=self._milliseconds(utterance.start),
                item_id=utterance.item.id,
            )

    async def partial(self, transcript: Transcript) -> None:
        """Send the words that two transcripts in a row agree upon."""
        utterance = self._utterances.get(transcript.turn)
        if utterance is None or not self.transcribes:
            return
        words = transcript.text.split()
        agreed = _common(words, utterance.before)
        utterance.before = words
        if len(agreed) > len(utterance.told) and agreed[: len(utterance.told)] == utterance.told:
            await self._delta(utterance, agreed)

    async def ended(self, ended: SpeechEnded) -> None:
        """Tell that speech has stopped, and add its item."""
        utterance = self._utterances.get(ended.turn)
        if utterance is None:
            return
        if ended.request_id == CLEARED:
            del self._utterances[ended.turn]
            return
        if utterance.is_told and ended.reason is EndReason.SILENCE:
            await self._sender.send(
                "input_audio_buffer.speech_stopped",
                audio_end_ms=self._milliseconds(ended.end),
                item_id=utterance.item.id,
            )
        await self._commit(utterance)

    async def final(self, transcript: Transcript) -> Item | None:
        """Send an utterance's transcript; return its item, None if it was deleted."""
        utterance = self._utterances.pop(transcript.turn, None)
        if utterance is None or transcript.request_id == CLEARED:
            return None
        await self._commit(utterance)
        await self._complete(utterance, transcript)
        return utterance.item

    async def silence(self, seconds: float) -> Item:
        """Add an item in which nothing was said."""
        utterance = _Utterance(0)
        await self._commit(utterance)
        utterance.item.audio_seconds = seconds
        await self._complete(utterance, None)
        return utterance.item

    async def failed(self, turn: int, error: dict[str, Any]) -> None:
        """Tell that an utterance could not be recognized."""
        utterance = self._utterances.get(turn)
        if utterance is not None and self.transcribes:
            name = "conversation.item.input_audio_transcription.failed"
            await self._sender.send(name, item_id=utterance.item.id, content_index=0, error=error)

    async def _commit(self, utterance: _Utterance) -> None:
        if utterance.is_committed:
            return
        utterance.is_committed = True
        send, item = self._sender.send, utterance.item
        item.status = "completed"
        before = self._items.add(item)
        await send("input_audio_buffer.committed", previous_item_id=before, item_id=item.id)
        await send("conversation.item.added", previous_item_id=before, item=item.as_json())
        await send("conversation.item.done", previous_item_id=before, item=item.as_json())

    async def _complete(self, utterance: _Utterance, transcript: Transcript | None) -> None:
        text = transcript.text if transcript else ""
        item = utterance.item
        item.text, item.is_answered = text, not text
        if transcript is not None:
            item.audio_seconds = (transcript.end - transcript.start) / MODEL_RATE_HZ
        if text:
            self.texts.append(text)
        if not self.transcribes:
            return
        words = text.split()
        if len(words) > len(utterance.told) and words[: len(utterance.told)] == utterance.told:
            await self._delta(utterance, words)
        await self._sender.send(
            "conversation.item.input_audio_transcription.completed",
            item_id=item.id,
            content_index=0,
            transcript=text,
            usage=usage_of(item.audio_seconds),
        )

    async def _delta(self, utterance: _Utterance, words: list[str]) -> None:
        delta = " ".join(words[len(utterance.told) :])
        delta = f" {delta}" if utterance.told else delta
        utterance.told = words
        name = "conversation.item.input_audio_transcription.delta"
        await self._sender.send(name, item_id=utterance.item.id, content_index=0, delta=delta)

    def _milliseconds(self, sample: int) -> int:
        return 1000 * (self.offset + sample) // MODEL_RATE_HZ


def _common(first: list[str], second: list[str]) -> list[str]:
    """Return the words with which both begin."""
    same = 0
    while same < min(len(first), len(second)) and first[same] == second[same]:
        same += 1
    return first[:same]
