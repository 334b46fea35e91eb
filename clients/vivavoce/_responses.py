"""Messages of the protocol as events."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf import json_format

from vivavoce._dialog import DialogCause, dialog_of
from vivavoce._events import (
    Alternative,
    EndReason,
    Event,
    GoingAway,
    GoingAwayReason,
    Notice,
    NoticeCode,
    SpeakerSpan,
    SpeechBegan,
    SpeechEnded,
    Started,
    Transcript,
)
from vivavoce._pauses import SpeechPaused, SpeechResumed
from vivavoce._reply import Answer, AnswerSource, Latency, Prompt, Reply, ReplyStatus, Speaker, Stage, StageLatency
from vivavoce._spoken import Interrupted, InterruptionReason, ReplyAudio, ReplyHeld, ReplyResumed
from vivavoce._tools import tool_call_of
from vivavoce._understood import Intent, IntentCandidate, Reading, Slot, UtteranceKind, Value, ValueKind
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from google.protobuf import duration_pb2
    from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

_E = TypeVar("_E", bound=Enum)
_R = TypeVar("_R", bound=Reply)


def event_from_response(response: pb.ConverseResponse) -> Event | None:
    """Make the event of `response`; None for one of a newer server."""
    kind = response.WhichOneof("response")
    return None if kind is None else _EVENTS[kind](getattr(response, kind))


def reply_event(reply: reply_pb2.Reply) -> Reply:
    """Make the event of a reply; `client_latency_seconds` is left open."""
    # Servers that are older than prompts tell an agent's own words so.
    by_itself = reply.HasField("dialog") and dialog_of(reply.dialog).cause is not DialogCause.TURN
    return _reply_as(Prompt if by_itself else Reply, reply)


def _reply_as(kind: type[_R], reply: reply_pb2.Reply) -> _R:
    return kind(
        turn=reply.turn,
        transcript=reply.transcript,
        intent=_intent(reply.intent) if reply.HasField("intent") else None,
        slots=tuple(map(_slot, reply.slots)),
        answer=_answer(reply.answer) if reply.HasField("answer") else None,
        status=_enum(ReplyStatus, reply_pb2.ReplyStatus, reply.status, "REPLY_STATUS_"),
        overran=tuple(_stage(stage) for stage in reply.overran),
        latency=_latency(reply.latency),
        speculated=reply.speculated,
        model_versions=dict(reply.model_versions),
        request_id=reply.request_id,
        readings=tuple(Reading(_intent(r.intent), tuple(map(_slot, r.slots)), r.start, r.end) for r in reply.readings),
        values=tuple(map(_value, reply.values)),
        speech_text=reply.speech_text,
        dialog=dialog_of(reply.dialog) if reply.HasField("dialog") else None,
        results={stage: json_format.MessageToDict(data) for stage, data in reply.results.items()},
        speaker=_speaker(reply.speaker) if reply.HasField("speaker") else None,
    )


def prompt_event(reply: reply_pb2.Reply) -> Prompt:
    """Make the event of an agent's own words."""
    return _reply_as(Prompt, reply)


def _prompt(prompt: pb.Prompt) -> Prompt:
    return prompt_event(prompt.reply)


def _reply_completed(reply: reply_pb2.Reply) -> Reply:
    return replace(reply_event(reply), completes=True)


def _started(started: pb.Started) -> Started:
    return Started(started.conversation_id, started.greeting)


def _speech_began(began: pb.SpeechBegan) -> SpeechBegan:
    return SpeechBegan(began.turn, _seconds(began.start))


def _transcript(transcript: pb.Transcript) -> Transcript:
    return Transcript(
        turn=transcript.turn,
        text=transcript.text,
        is_final=transcript.is_final,
        start_seconds=_seconds(transcript.start),
        end_seconds=_seconds(transcript.end),
        alternatives=tuple(Alternative(one.text, one.confidence) for one in transcript.alternatives),
        confidence=transcript.confidence or None,
        request_id=transcript.request_id,
        speakers=tuple(map(_speaker_span, transcript.speakers)),
        language=transcript.language_code,
    )


def _speaker_span(span: pb.SpeakerSpan) -> SpeakerSpan:
    return SpeakerSpan(_speaker(span.speaker), _seconds(span.start), _seconds(span.end))


def _speaker(speaker: reply_pb2.Speaker) -> Speaker:
    return Speaker(speaker.tag, speaker.name)


def _speech_ended(ended: pb.SpeechEnded) -> SpeechEnded:
    reason = _enum(EndReason, pb.EndReason, ended.reason, "END_REASON_")
    silence_seconds = _seconds(ended.silence) if ended.HasField("silence") else None
    return SpeechEnded(ended.turn, _seconds(ended.end), reason, ended.request_id, silence_seconds)


def _speech_paused(paused: pb.SpeechPaused) -> SpeechPaused:
    return SpeechPaused(
        turn=paused.turn,
        text=paused.text,
        probability=paused.probability,
        start_seconds=_seconds(paused.start),
        end_seconds=_seconds(paused.end),
        silence_seconds=_seconds(paused.silence),
    )


def _speech_resumed(resumed: pb.SpeechResumed) -> SpeechResumed:
    return SpeechResumed(resumed.turn, _seconds(resumed.start))


def _notice(notice: pb.Notice) -> Notice:
    code = _enum(NoticeCode, pb.NoticeCode, notice.code, "NOTICE_CODE_")
    return Notice(code, notice.message, notice.turn or None, notice.request_id)


def _going_away(going_away: pb.GoingAway) -> GoingAway:
    reason = _enum(GoingAwayReason, pb.GoingAwayReason, going_away.reason, "GOING_AWAY_REASON_")
    return GoingAway(reason, _seconds(going_away.grace))


def _reply_audio(audio: pb.ReplyAudio) -> ReplyAudio:
    return ReplyAudio(audio.turn, audio.audio, _seconds(audio.start), audio.last)


def _reply_held(held: pb.ReplyHeld) -> ReplyHeld:
    return ReplyHeld(held.turn, _seconds(held.position))


def _reply_resumed(resumed: pb.ReplyResumed) -> ReplyResumed:
    return ReplyResumed(resumed.turn, _seconds(resumed.position))


def _interrupted(interrupted: pb.Interrupted) -> Interrupted:
    reason = _enum(InterruptionReason, pb.InterruptionReason, interrupted.reason, "INTERRUPTION_REASON_")
    return Interrupted(interrupted.turn, _seconds(interrupted.heard), interrupted.heard_text, reason)


def _intent(intent: reply_pb2.Intent) -> Intent:
    kind = _enum(UtteranceKind, reply_pb2.UtteranceKind, intent.kind, "UTTERANCE_KIND_")
    candidates = tuple(IntentCandidate(one.name, one.confidence) for one in intent.candidates)
    return Intent(intent.name, intent.confidence, kind, intent.negated, candidates)


def _slot(slot: reply_pb2.Slot) -> Slot:
    resolved = _value(slot.resolved) if slot.HasField("resolved") else None
    return Slot(slot.name, slot.value, slot.text, slot.start, slot.end, resolved)


def _value(value: reply_pb2.Value) -> Value:
    kind = _enum(ValueKind, reply_pb2.ValueKind, value.kind, "VALUE_KIND_")
    return Value(kind, value.value, value.unit, value.alternative, value.text, value.start, value.end)


def _answer(answer: reply_pb2.Answer) -> Answer:
    source = None
    if answer.HasField("source"):
        told = answer.source
        source = AnswerSource(told.base, told.title, tuple(told.headings), told.page or None, told.passage)
    return Answer(answer.text, answer.score, answer.start, answer.end, answer.document_id, source)


def _latency(latency: reply_pb2.Latency) -> Latency:
    stages = (StageLatency(_stage(s.stage), _seconds(s.queue), _seconds(s.compute), s.name) for s in latency.stages)
    return Latency(_seconds(latency.total), tuple(stages))


def _stage(value: int) -> Stage:
    return _enum(Stage, reply_pb2.Stage, value, "STAGE_")


def _seconds(duration: duration_pb2.Duration) -> float:
    return duration.ToNanoseconds() / 1_000_000_000


def _enum(kind: type[_E], wire: EnumTypeWrapper, value: int, prefix: str) -> _E:
    """Find the member named like the protocol's value, or UNKNOWN."""
    name = wire.Name(value).removeprefix(prefix) if value in wire.values() else "UNKNOWN"
    return kind.__members__.get(name, kind["UNKNOWN"])


_EVENTS: Mapping[str, Callable[[Any], Event]] = {
    "started": _started,
    "speech_began": _speech_began,
    "transcript": _transcript,
    "speech_paused": _speech_paused,
    "speech_resumed": _speech_resumed,
    "speech_ended": _speech_ended,
    "reply": reply_event,
    "reply_completed": _reply_completed,
    "prompt": _prompt,
    "notice": _notice,
    "going_away": _going_away,
    "reply_audio": _reply_audio,
    "reply_held": _reply_held,
    "reply_resumed": _reply_resumed,
    "interrupted": _interrupted,
    "tool_call": tool_call_of,
}
