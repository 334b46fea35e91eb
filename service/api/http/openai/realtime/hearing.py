"""User items of a session: events of speech and transcripts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.messages import EndReason
from service.api.http.openai.realtime.items import Item
from service.api.http.openai.realtime.state import CLEARED, Utterance
from service.api.http.openai.transcripts import usage_of

if TYPE_CHECKING:
    from pipelines.data.messages import SpeechBegan, SpeechEnded, Transcript
    from service.api.http.openai.realtime.state import Step

_TRANSCRIPTION = "conversation.item.input_audio_transcription"


def began(step: Step, message: SpeechBegan) -> None:
    """Tell that speech starts, also over a response: clients then stop playing it."""
    item = Item(step.new_id("item"), "user", "input_audio", None, "in_progress")
    utterance = Utterance(item, is_told=step.state.told.detection is not None)
    _put(step, message.turn, utterance)
    if utterance.is_told:
        start = _milliseconds(step, message.start)
        step.tell("input_audio_buffer.speech_started", audio_start_ms=start, item_id=item.id)


def partial(step: Step, transcript: Transcript) -> None:
    """Tell the words that two transcripts in a row agree upon."""
    utterance = step.state.utterances.get(transcript.turn)
    if utterance is None or not step.state.told.transcribes:
        return
    words = tuple(transcript.text.split())
    agreed = _common(words, utterance.before)
    _put(step, transcript.turn, _told(step, dataclasses.replace(utterance, before=words), agreed))


def ended(step: Step, message: SpeechEnded) -> None:
    """Tell that speech has stopped, and add its item."""
    utterance = step.state.utterances.get(message.turn)
    if utterance is None:
        return
    if message.request_id == CLEARED:
        _put(step, message.turn, None)
        return
    if utterance.is_told and message.reason is EndReason.SILENCE:
        end = _milliseconds(step, message.end)
        step.tell("input_audio_buffer.speech_stopped", audio_end_ms=end, item_id=utterance.item.id)
    _put(step, message.turn, _committed(step, utterance))


def final(step: Step, transcript: Transcript) -> bool:
    """Tell an utterance's transcript; return False for one that was dropped."""
    utterance = step.state.utterances.get(transcript.turn)
    _put(step, transcript.turn, None)
    if utterance is None or transcript.request_id == CLEARED:
        return False
    seconds = (transcript.end - transcript.start) / MODEL_RATE_HZ
    _complete(step, _committed(step, utterance), transcript.text, seconds)
    return True


def silence(step: Step, seconds: float) -> None:
    """Add an item in which nothing was said."""
    utterance = Utterance(Item(step.new_id("item"), "user", "input_audio", None))
    _complete(step, _committed(step, utterance), "", seconds)


def failed(step: Step, turn: int, error: dict[str, Any]) -> None:
    """Tell that an utterance could not be recognized."""
    utterance = step.state.utterances.get(turn)
    if utterance is not None and step.state.told.transcribes:
        step.tell(f"{_TRANSCRIPTION}.failed", item_id=utterance.item.id, content_index=0, error=error)


def _put(step: Step, turn: int, utterance: Utterance | None) -> None:
    others = {number: one for number, one in step.state.utterances.items() if number != turn}
    step.change(utterances=others if utterance is None else {**others, turn: utterance})


def _committed(step: Step, utterance: Utterance) -> Utterance:
    if utterance.is_committed:
        return utterance
    item = dataclasses.replace(utterance.item, status="completed")
    before = step.add_item(item)
    step.tell("input_audio_buffer.committed", previous_item_id=before, item_id=item.id)
    for change in ("added", "done"):
        step.tell(f"conversation.item.{change}", previous_item_id=before, item=item.as_json())
    return dataclasses.replace(utterance, item=item, is_committed=True)


def _complete(step: Step, utterance: Utterance, text: str, seconds: float) -> None:
    item = dataclasses.replace(utterance.item, text=text, is_answered=not text, audio_seconds=seconds)
    step.change(items=step.state.items.put(item))
    if not step.state.told.transcribes:
        return
    _told(step, utterance, tuple(text.split()))
    step.tell(f"{_TRANSCRIPTION}.completed", item_id=item.id, content_index=0, transcript=text, usage=usage_of(seconds))


def _told(step: Step, utterance: Utterance, words: tuple[str, ...]) -> Utterance:
    """Tell the words that were not told yet, where they go on from those that were."""
    told = len(utterance.told)
    if len(words) <= told or words[:told] != utterance.told:
        return utterance
    delta = f"{' ' if told else ''}{' '.join(words[told:])}"
    step.tell(f"{_TRANSCRIPTION}.delta", item_id=utterance.item.id, content_index=0, delta=delta)
    return dataclasses.replace(utterance, told=words)


def _milliseconds(step: Step, sample: int) -> int:
    return 1000 * (step.state.offset + sample) // MODEL_RATE_HZ


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words with which both begin."""
    same = 0
    while same < min(len(first), len(second)) and first[same] == second[same]:
        same += 1
    return first[:same]
