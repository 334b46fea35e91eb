"""Conversations as JSON, one object a line. Other tools rely on the names; new keys may only be added at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO, TypeAlias

from vivavoce import (
    Event,
    GoingAway,
    Latency,
    Notice,
    Reconnected,
    Reply,
    SpeechBegan,
    SpeechEnded,
    Stage,
    Started,
    Transcript,
)
from vivavoce.cli._file_names import in_unicode
from vivavoce.cli._json_understood import understood

if TYPE_CHECKING:
    from types import TracebackType

_Object: TypeAlias = Mapping[str, object]


class JsonView(AbstractContextManager["JsonView"]):
    """Writes every event to a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._name = ""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held open."""

    def begin(self, name: str) -> None:
        """Names the conversation in the objects that follow."""
        self._name = in_unicode(name)

    def show(self, event: Event) -> None:
        """Writes `event`."""
        named = {"file": self._name} if self._name else {}
        print(json.dumps({**_event(event), **named}), file=self._stream, flush=True)

    def level(self, peak: float) -> None:
        """Levels are for people."""

    def end(self) -> None:
        """The end of the output tells."""


def _event(event: Event) -> _Object:
    match event:
        case Started():
            said: _Object = {"event": "started", "conversation_id": event.conversation_id}
        case SpeechBegan():
            said = {"event": "speech_began", "turn": event.turn, "start_s": _rounded(event.start_seconds)}
        case Transcript():
            said = _transcript(event)
        case SpeechEnded():
            end_s = _rounded(event.end_seconds)
            said = {"event": "speech_ended", "turn": event.turn, "end_s": end_s, "reason": event.reason.value}
        case Reply():
            said = _reply(event)
        case Notice():
            said = {"event": "notice", "code": event.code.value, "message": event.message, "turn": event.turn}
        case GoingAway():
            grace_s = _rounded(event.grace_seconds)
            said = {"event": "going_away", "reason": event.reason.value, "grace_s": grace_s}
        case Reconnected():
            lost_s, replayed_s = _rounded(event.lost_seconds), _rounded(event.replayed_seconds)
            said = {"event": "reconnected", "lost_s": lost_s, "replayed_s": replayed_s}
    return said


def _transcript(transcript: Transcript) -> _Object:
    told = [{"text": one.text, "confidence": round(one.confidence, 4)} for one in transcript.alternatives]
    return {
        "event": "transcript",
        "text": transcript.text,
        "is_final": transcript.is_final,
        "start_s": _rounded(transcript.start_seconds),
        "end_s": _rounded(transcript.end_seconds),
        "turn": transcript.turn,
    } | ({"alternatives": told} if told else {})


def _reply(reply: Reply) -> _Object:
    intent, answer, client_seconds = reply.intent, reply.answer, reply.client_latency_seconds
    return {
        "event": "reply",
        "transcript": reply.transcript,
        "intent": intent and {"name": intent.name, "confidence": round(intent.confidence, 4)},
        "slots": [{"name": slot.name, "value": slot.value, "text": slot.text} for slot in reply.slots],
        "answer": answer
        and {"text": answer.text, "score": round(answer.score, 4), "start": answer.start, "end": answer.end}
        | ({"document": answer.document_id} if answer.document_id else {}),
        "status": reply.status.value,
        "latency_ms": _latency_ms(reply.latency),
        "turn": reply.turn,
        "speculated": reply.speculated,
        "overran": [stage.value for stage in reply.overran],
        **({} if client_seconds is None else {"client_ms": _milliseconds(client_seconds)}),
        **understood(reply),
    }


def _latency_ms(latency: Latency) -> _Object:
    return {
        "asr": _stage_ms(latency, Stage.ASR),
        "nlu": _stage_ms(latency, Stage.NLU),
        "qa": _stage_ms(latency, Stage.QA),
        "total": _milliseconds(latency.total_seconds),
    }


def _stage_ms(latency: Latency, stage: Stage) -> float | None:
    took = latency.of(stage)
    return None if took is None else _milliseconds(took.queue_seconds + took.compute_seconds)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1_000, 1)


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
