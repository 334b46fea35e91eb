"""Replies in words: intent, answer and latency, for the views to lay out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vivavoce import (
    Answer,
    AnswerSource,
    Intent,
    Interrupted,
    Reconnected,
    Reply,
    ReplyStatus,
    Stage,
    StageLatency,
    Transcript,
    UtteranceKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_BUDGET_SECONDS = 0.3

_STAGES = (Stage.ASR, Stage.NLU, Stage.QA)


@dataclass(frozen=True, slots=True)
class Row:
    """One line about a reply."""

    label: str
    """What it is about."""
    text: str
    """What there is to say."""
    is_detail: bool = False
    """Whether it belongs to the row before it."""
    is_warning: bool = False
    """Whether something is not as it should be."""


def speaker_label(transcript: Transcript) -> str:
    """Return the speakers of a final transcript as a prefix; "" for none."""
    speakers = dict.fromkeys(span.speaker for span in transcript.speakers)
    names = (printable(one.name) or f"speaker {one.tag}" for one in speakers)
    return f"{' and '.join(names)}: " if speakers else ""


def reply_rows(reply: Reply, budget_seconds: float) -> Iterator[Row]:
    """Yield the lines that tell a person about `reply`, which had `budget_seconds`."""
    yield _intent_row(reply, reply.intent)
    if len(reply.readings) > 1:
        for reading in reply.readings:
            details = "".join(f", {slot.name} = {printable(slot.value)}" for slot in reading.slots)
            yield Row("part", f"{printable(reading.intent.name)}{details}")
    elif reply.slots:
        yield Row("slots", ", ".join(f"{slot.name} = {printable(slot.value)}" for slot in reply.slots))
    if reply.answer is not None:
        yield Row("answer", _answer(reply.answer))
    elif reply.latency.of(Stage.QA) is not None:
        yield Row("answer", "none in the documents")
    if reply.speech_text:
        yield Row("says", printable(reply.speech_text))
    if reply.status is not ReplyStatus.COMPLETE or reply.overran:
        yield Row("status", _status(reply), is_warning=True)
    yield Row("time", _time(reply, budget_seconds), is_warning=reply.latency.total_seconds > budget_seconds)
    for stage in _STAGES:
        took = reply.latency.of(stage)
        if took is not None:
            yield Row(stage.value.lower(), _stage(took), is_detail=True)


def reconnection(reconnected: Reconnected) -> str:
    """Write what a lost connection came to."""
    told = f"Connected again; {reconnected.replayed_seconds:.1f} s of audio are sent once more"
    return f"{told}, {reconnected.lost_seconds:.1f} s are lost." if reconnected.lost_seconds else f"{told}."


def interruption(interrupted: Interrupted) -> str:
    """Write what was heard of a reply that was stopped."""
    heard = f'"{printable(interrupted.heard_text)}"' if interrupted.heard_text else "nothing"
    return f"The reply was stopped after {interrupted.heard_seconds:.1f} s; {heard} was heard."


def printable(text: str) -> str:
    """Replace control characters, which a terminal would obey."""
    return "".join(character if character.isprintable() else " " for character in text)


def milliseconds(seconds: float) -> str:
    """Write a time for people."""
    return f"{seconds * 1_000:.0f} ms"


def _intent_row(reply: Reply, intent: Intent | None) -> Row:
    if intent is None:
        is_open = reply.status is ReplyStatus.PARTIAL and Stage.NLU in reply.overran
        return Row("intent", "not known yet" if is_open else "not known", is_warning=True)
    kind = (
        "" if intent.kind is UtteranceKind.UNSPECIFIED else f", {'negated ' if intent.negated else ''}{_kind(intent)}"
    )
    return Row("intent", f"{printable(intent.name)} ({intent.confidence:.0%}{kind})")


def _kind(intent: Intent) -> str:
    return str(intent.kind.value).lower()


def _answer(answer: Answer) -> str:
    if answer.source is not None:
        return f'"{printable(answer.text)}" ({answer.score:.0%}; {_place(answer.source)})'
    source = f"{printable(answer.document_id)}, " if answer.document_id else ""
    return f'"{printable(answer.text)}" ({answer.score:.0%}; {source}characters {answer.start} to {answer.end})'


def _place(source: AnswerSource) -> str:
    page = f", page {source.page}" if source.page is not None else ""
    return printable(" > ".join((source.title, *source.headings)) + page)


def _status(reply: Reply) -> str:
    late = " and ".join(stage.value.lower() for stage in reply.overran) or "a stage"
    if reply.status is ReplyStatus.PARTIAL:
        return f"partial: {late} did not finish inside the budget and follows"
    if reply.status is ReplyStatus.DEGRADED:
        return "degraded: a stage failed"
    if reply.status is ReplyStatus.COMPLETE:
        return f"completed late: {late} did not finish inside the budget"
    return str(reply.status.value).lower()


def _time(reply: Reply, budget_seconds: float) -> str:
    parts = [f"{milliseconds(reply.latency.total_seconds)} of {milliseconds(budget_seconds)}"]
    if reply.turn_latency_seconds is not None:
        parts.insert(0, f"{milliseconds(reply.turn_latency_seconds)} after the last sound")
    if reply.client_latency_seconds is not None:
        parts.append(f"{milliseconds(reply.client_latency_seconds)} seen from here")
    if reply.speculated:
        parts.append("worked out during the silence")
    return ", ".join(parts)


def _stage(took: StageLatency) -> str:
    total = took.queue_seconds + took.compute_seconds
    return f"{milliseconds(total)}: waited {took.queue_seconds * 1e3:.0f}, computed {took.compute_seconds * 1e3:.0f}"
