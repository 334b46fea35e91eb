"""Serialization of the client's events and errors, for fake services."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from vivavoce._dialog import dialog_message
from vivavoce._durations import duration_of
from vivavoce._errors import (
    AccessDenied,
    Incompatible,
    InvalidRequest,
    Overloaded,
    ResponseOverdue,
    ServerError,
    ServerFailed,
    ServerUnavailable,
    VivavoceError,
)
from vivavoce._events import GoingAway, Notice, SpeechBegan, SpeechEnded, Started, Transcript
from vivavoce._pauses import SpeechPaused, SpeechResumed
from vivavoce._reply import Prompt, Reply
from vivavoce._spoken import Interrupted, ReplyAudio, ReplyHeld, ReplyResumed
from vivavoce._status import ERROR_DOMAIN
from vivavoce._tools import ToolCall
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from enum import Enum

    from google.protobuf.message import Message

    from vivavoce._events import Event
    from vivavoce._reply import Latency

_CODES = {
    InvalidRequest: grpc.StatusCode.INVALID_ARGUMENT,
    Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ServerUnavailable: grpc.StatusCode.UNAVAILABLE,
    ResponseOverdue: grpc.StatusCode.DEADLINE_EXCEEDED,
    AccessDenied: grpc.StatusCode.PERMISSION_DENIED,
    Incompatible: grpc.StatusCode.UNIMPLEMENTED,
    ServerFailed: grpc.StatusCode.INTERNAL,
}


def response_of(event: Event) -> pb.ConverseResponse:  # noqa: PLR0912, PLR0915 - one an event
    """Write an event as the server's message.

    Raises:
        TypeError: A server does not tell it.
    """
    match event:
        case Started():
            started = pb.Started(conversation_id=event.conversation_id, greeting=event.greeting)
            response = pb.ConverseResponse(started=started)
        case SpeechBegan():
            began = pb.SpeechBegan(turn=event.turn, start=duration_of(event.start_seconds))
            response = pb.ConverseResponse(speech_began=began)
        case Transcript():
            response = pb.ConverseResponse(transcript=_transcript(event))
        case SpeechPaused():
            response = pb.ConverseResponse(speech_paused=_paused(event))
        case SpeechResumed():
            resumed = pb.SpeechResumed(turn=event.turn, start=duration_of(event.start_seconds))
            response = pb.ConverseResponse(speech_resumed=resumed)
        case SpeechEnded():
            response = pb.ConverseResponse(speech_ended=_ended(event))
        case Prompt():
            response = pb.ConverseResponse(prompt=pb.Prompt(reply=reply_of(event)))
        case Reply():
            reply = reply_of(event)
            response = (
                pb.ConverseResponse(reply_completed=reply) if event.completes else pb.ConverseResponse(reply=reply)
            )
        case Notice():
            code = _name("NOTICE_CODE_", event.code)
            notice = pb.Notice(code=code, message=event.message, turn=event.turn or 0, request_id=event.request_id)
            response = pb.ConverseResponse(notice=notice)
        case GoingAway():
            away = _name("GOING_AWAY_REASON_", event.reason)
            response = pb.ConverseResponse(going_away=pb.GoingAway(reason=away, grace=duration_of(event.grace_seconds)))
        case ReplyAudio():
            start = duration_of(event.start_seconds)
            piece = pb.ReplyAudio(turn=event.turn, audio=event.audio, start=start, last=event.is_last)
            response = pb.ConverseResponse(reply_audio=piece)
        case ReplyHeld():
            held = pb.ReplyHeld(turn=event.turn, position=duration_of(event.position_seconds))
            response = pb.ConverseResponse(reply_held=held)
        case ReplyResumed():
            goes_on = pb.ReplyResumed(turn=event.turn, position=duration_of(event.position_seconds))
            response = pb.ConverseResponse(reply_resumed=goes_on)
        case Interrupted():
            reason = _name("INTERRUPTION_REASON_", event.reason)
            heard, text = duration_of(event.heard_seconds), event.heard_text
            stopped = pb.Interrupted(turn=event.turn, heard=heard, heard_text=text, reason=reason)
            response = pb.ConverseResponse(interrupted=stopped)
        case ToolCall():
            call = pb.ToolCall(id=event.id, name=event.name, intent=event.intent, arguments=event.arguments)
            call.parameters.update(event.parameters)
            call.deadline.CopyFrom(duration_of(event.deadline_seconds))
            response = pb.ConverseResponse(tool_call=call)
        case _:
            raise TypeError(f"A server does not tell {type(event).__name__}: the client makes it.")
    return response


def reply_of(reply: Reply) -> reply_pb2.Reply:
    """Write a reply as the server's message, without what only the client knows."""
    intent, answer = reply.intent, reply.answer
    message = reply_pb2.Reply(
        turn=reply.turn,
        transcript=reply.transcript,
        status=_name("REPLY_STATUS_", reply.status),
        overran=[_name("STAGE_", stage) for stage in reply.overran],
        latency=_latency(reply.latency),
        speculated=reply.speculated,
        model_versions=reply.model_versions,
        request_id=reply.request_id,
        speech_text=reply.speech_text,
        dialog=dialog_message(reply.dialog) if reply.dialog else None,
    )
    for stage, data in reply.results.items():
        message.results[stage].update(data)
    for slot in reply.slots:
        message.slots.add(name=slot.name, value=slot.value, text=slot.text, start=slot.start, end=slot.end)
    if intent is not None:
        message.intent.CopyFrom(reply_pb2.Intent(name=intent.name, confidence=intent.confidence))
    if answer is not None:
        message.answer.CopyFrom(
            reply_pb2.Answer(
                text=answer.text,
                score=answer.score,
                start=answer.start,
                end=answer.end,
                document_id=answer.document_id,
            )
        )
        if (source := answer.source) is not None:
            message.answer.source.CopyFrom(
                reply_pb2.AnswerSource(
                    base=source.base,
                    title=source.title,
                    headings=source.headings,
                    page=source.page or 0,
                    passage=source.passage,
                )
            )
    return message


def abort(context: grpc.ServicerContext, error: VivavoceError) -> NoReturn:
    """End a call so that the client raises `error`."""
    code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), grpc.StatusCode.UNKNOWN)
    if isinstance(error, ServerError):
        code = getattr(grpc.StatusCode, error.code, code)
    details: list[Message] = [
        error_details_pb2.ErrorInfo(domain=ERROR_DOMAIN, reason=getattr(error, "reason", "") or "SCRIPTED")
    ]
    if isinstance(error, InvalidRequest) and error.field:
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.message)
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    retry_after_seconds = getattr(error, "retry_after_seconds", None)
    if retry_after_seconds is not None:
        details.append(error_details_pb2.RetryInfo(retry_delay=duration_of(retry_after_seconds)))
    status = status_pb2.Status(code=code.value[0], message=error.message)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    context.abort_with_status(rpc_status.to_status(status))
    raise AssertionError("gRPC has ended the call")


def _transcript(transcript: Transcript) -> pb.Transcript:
    return pb.Transcript(
        turn=transcript.turn,
        text=transcript.text,
        is_final=transcript.is_final,
        start=duration_of(transcript.start_seconds),
        end=duration_of(transcript.end_seconds),
        alternatives=[pb.Alternative(text=one.text, confidence=one.confidence) for one in transcript.alternatives],
        confidence=transcript.confidence or 0.0,
        request_id=transcript.request_id,
        language_code=transcript.language,
    )


def _ended(ended: SpeechEnded) -> pb.SpeechEnded:
    return pb.SpeechEnded(
        turn=ended.turn,
        end=duration_of(ended.end_seconds),
        reason=_name("END_REASON_", ended.reason),
        request_id=ended.request_id,
        silence=None if ended.silence_seconds is None else duration_of(ended.silence_seconds),
    )


def _paused(paused: SpeechPaused) -> pb.SpeechPaused:
    return pb.SpeechPaused(
        turn=paused.turn,
        text=paused.text,
        probability=paused.probability,
        start=duration_of(paused.start_seconds),
        end=duration_of(paused.end_seconds),
        silence=duration_of(paused.silence_seconds),
    )


def _latency(latency: Latency) -> reply_pb2.Latency:
    message = reply_pb2.Latency(total=duration_of(latency.total_seconds))
    for took in latency.stages:
        message.stages.add(
            stage=_name("STAGE_", took.stage),
            queue=duration_of(took.queue_seconds),
            compute=duration_of(took.compute_seconds),
            name=took.name or took.stage.value.lower(),
        )
    return message


def _name(prefix: str, member: Enum) -> str:
    """Return the protocol's name of a value; UNKNOWN becomes unspecified."""
    return prefix + ("UNSPECIFIED" if member.value == "UNKNOWN" else str(member.value))
