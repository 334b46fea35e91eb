"""Replies as messages of ``vivavoce.v1``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import duration_pb2, struct_pb2

from pipelines.data import messages
from pipelines.data.stages import ASR, NLU, QA
from service.api.vivavoce.dialogs import to_dialog
from service.api.vivavoce.understood import to_intent, to_reading, to_slot, to_value
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.answers import Answer, AnswerSource
    from pipelines.data.recognition import Speaker, Timing

_STAGES = {
    ASR: reply_pb2.STAGE_ASR,
    NLU: reply_pb2.STAGE_NLU,
    QA: reply_pb2.STAGE_QA,
}
_STATUSES = {
    messages.Status.COMPLETE: reply_pb2.REPLY_STATUS_COMPLETE,
    messages.Status.PARTIAL: reply_pb2.REPLY_STATUS_PARTIAL,
    messages.Status.DEGRADED: reply_pb2.REPLY_STATUS_DEGRADED,
}


def to_reply(reply: messages.Reply, now_seconds: float) -> reply_pb2.Reply:
    """Write a reply; its latency ends at ``now_seconds``."""
    understanding = reply.understanding
    return reply_pb2.Reply(
        turn=reply.turn,
        transcript=reply.transcript,
        intent=to_intent(understanding),
        slots=[to_slot(slot, reply.transcript) for slot in understanding.slots] if understanding else [],
        answer=_answer(reply.answer),
        status=_STATUSES[reply.status],
        overran=[_STAGES[stage] for stage in reply.overran if stage in _STAGES],
        overran_stages=reply.overran,
        speech_text=reply.speech_text,
        latency=_latency(now_seconds - reply.ended_at_seconds, reply.timings),
        speculated=reply.speculated,
        model_versions=reply.model_versions,
        request_id=reply.request_id,
        readings=[to_reading(part, reply.transcript) for part in understanding.readings] if understanding else [],
        values=[to_value(value, reply.transcript) for value in understanding.values] if understanding else [],
        dialog=to_dialog(reply.dialog),
        results={stage: _struct(data) for stage, data in reply.open_results.items()},
        speaker=to_speaker(reply.speaker),
    )


def to_speaker(speaker: Speaker | None) -> reply_pb2.Speaker | None:
    """Write who speaks; None where that is not known."""
    return None if speaker is None else reply_pb2.Speaker(tag=speaker.tag, name=speaker.name)


def to_duration(seconds: float) -> duration_pb2.Duration:
    """Write a time, to the nanosecond."""
    duration = duration_pb2.Duration()
    duration.FromNanoseconds(round(seconds * 1e9))
    return duration


def _struct(data: Mapping[str, Any]) -> struct_pb2.Struct:
    struct = struct_pb2.Struct()
    struct.update(data)
    return struct


def _answer(answer: Answer | None) -> reply_pb2.Answer | None:
    if answer is None:
        return None
    return reply_pb2.Answer(
        text=answer.text,
        score=answer.score,
        start=answer.start,
        end=answer.end,
        document_id=answer.document_id,
        source=_source(answer.source),
    )


def _source(source: AnswerSource | None) -> reply_pb2.AnswerSource | None:
    if source is None:
        return None
    return reply_pb2.AnswerSource(
        base=source.base,
        title=source.title,
        headings=source.headings,
        page=source.page or 0,
        passage=source.passage,
    )


def _latency(total_seconds: float, timings: Mapping[str, Timing]) -> reply_pb2.Latency:
    return reply_pb2.Latency(
        total=to_duration(max(0.0, total_seconds)),
        stages=[
            reply_pb2.StageLatency(
                stage=_STAGES.get(stage, reply_pb2.STAGE_UNSPECIFIED),
                queue=to_duration(timing.queue_seconds),
                compute=to_duration(timing.compute_seconds),
                name=stage,
            )
            for stage, timing in timings.items()
        ],
    )
