"""Every event as what JSON can hold: the lines of `--json`."""

from __future__ import annotations

import io
import json
from typing import get_args

import pytest

import vivavoce
from tests.unit.clients.test_live_view import REPLY
from vivavoce.cli._json_view import JsonView

WHOLE = vivavoce.Reply(
    turn=2,
    transcript="when does it open",
    intent=vivavoce.Intent("opening_hours", 0.912345),
    slots=(vivavoce.Slot("place", "museum", "Museum", 3, 9),),
    answer=vivavoce.Answer("at nine", 0.98765, 17, 24, "museum.txt"),
    status=vivavoce.ReplyStatus.PARTIAL,
    overran=(vivavoce.Stage.NLU,),
    latency=vivavoce.Latency(0.0123, (vivavoce.StageLatency(vivavoce.Stage.ASR, 0.001, 0.0204),)),
    speculated=True,
    client_latency_seconds=0.01534,
    turn_latency_seconds=0.3414,
    model_versions={"asr": 1},
    request_id="a",
    results={"politeness": {"is_polite": True, "words": ["please"]}},
)

DICTS = [
    (vivavoce.Started("c-1"), {"event": "started", "conversation_id": "c-1"}),
    (vivavoce.SpeechBegan(1, 0.2504), {"event": "speech_began", "turn": 1, "start_s": 0.25}),
    (
        vivavoce.Transcript(1, "turn on", False, 0.25, 1.5),
        {"event": "transcript", "text": "turn on", "is_final": False, "start_s": 0.25, "end_s": 1.5, "turn": 1},
    ),
    (
        vivavoce.Transcript(1, "on", True, 0.0, 1.0, (vivavoce.Alternative("on", 0.87654),), 0.8, "a"),
        {
            "event": "transcript",
            "text": "on",
            "is_final": True,
            "start_s": 0.0,
            "end_s": 1.0,
            "turn": 1,
            "alternatives": [{"text": "on", "confidence": 0.8765}],
            "request_id": "a",
        },
    ),
    (
        vivavoce.Transcript(
            *(1, "no", True, 0.0, 1.0),
            speakers=(vivavoce.SpeakerSpan(vivavoce.Speaker(2, "ann"), 0.1004, 0.9),),
            language="en",
        ),
        {
            "event": "transcript",
            "text": "no",
            "is_final": True,
            "start_s": 0.0,
            "end_s": 1.0,
            "turn": 1,
            "speakers": [{"tag": 2, "name": "ann", "start_s": 0.1, "end_s": 0.9}],
            "language": "en",
        },
    ),
    (
        vivavoce.ReplyAudio(1, b"abc", 0.1604, False, 0.35),
        {"event": "reply_audio", "turn": 1, "bytes": 3, "start_s": 0.16, "is_last": False, "first_audio_ms": 350.0},
    ),
    (
        vivavoce.ReplyAudio(1, b"", 0.32, True),
        {"event": "reply_audio", "turn": 1, "bytes": 0, "start_s": 0.32, "is_last": True},
    ),
    (vivavoce.ReplyHeld(1, 1.2345), {"event": "reply_held", "turn": 1, "position_s": 1.234}),
    (vivavoce.ReplyResumed(1, 1.2345), {"event": "reply_resumed", "turn": 1, "position_s": 1.234}),
    (
        vivavoce.Interrupted(1, 1.2345, "It opens", vivavoce.InterruptionReason.SPEECH),
        {"event": "interrupted", "turn": 1, "heard_s": 1.234, "heard_text": "It opens", "reason": "SPEECH"},
    ),
    (
        vivavoce.SpeechEnded(1, 1.5, vivavoce.EndReason.SILENCE),
        {"event": "speech_ended", "turn": 1, "end_s": 1.5, "reason": "SILENCE"},
    ),
    (
        vivavoce.SpeechEnded(1, 1.5, vivavoce.EndReason.SILENCE, silence_seconds=0.2561),
        {"event": "speech_ended", "turn": 1, "end_s": 1.5, "reason": "SILENCE", "silence_s": 0.256},
    ),
    (
        vivavoce.SpeechPaused(1, "turn on", 0.31416, 0.25, 1.5, 0.2241),
        {
            "event": "speech_paused",
            "turn": 1,
            "text": "turn on",
            "probability": 0.3142,
            "start_s": 0.25,
            "end_s": 1.5,
            "silence_s": 0.224,
        },
    ),
    (vivavoce.SpeechResumed(1, 2.5), {"event": "speech_resumed", "turn": 1, "start_s": 2.5}),
    (
        vivavoce.SpeechEnded(1, 1.5, vivavoce.EndReason.REQUESTED, "a"),
        {"event": "speech_ended", "turn": 1, "end_s": 1.5, "reason": "REQUESTED", "request_id": "a"},
    ),
    (
        vivavoce.Notice(vivavoce.NoticeCode.NO_SPEECH, "Speak.", None),
        {"event": "notice", "code": "NO_SPEECH", "message": "Speak.", "turn": None},
    ),
    (
        vivavoce.GoingAway(vivavoce.GoingAwayReason.IDLE, 5.0),
        {"event": "going_away", "reason": "IDLE", "grace_s": 5.0},
    ),
    (
        vivavoce.ToolCall("a-1", "order", "order", {"size": "large"}, 29.98765, {"house": "the bar"}),
        {
            "event": "tool_call",
            "id": "a-1",
            "name": "order",
            "intent": "order",
            "arguments": {"size": "large"},
            "deadline_s": 29.988,
            "parameters": {"house": "the bar"},
        },
    ),
    (vivavoce.Reconnected(1.25, 30.0), {"event": "reconnected", "lost_s": 1.25, "replayed_s": 30.0}),
    (
        WHOLE,
        {
            "event": "reply",
            "transcript": "when does it open",
            "intent": {"name": "opening_hours", "confidence": 0.9123},
            "slots": [{"name": "place", "value": "museum", "text": "Museum"}],
            "answer": {"text": "at nine", "score": 0.9877, "start": 17, "end": 24, "document": "museum.txt"},
            "status": "PARTIAL",
            "latency_ms": {"asr": 21.4, "nlu": None, "qa": None, "total": 12.3},
            "turn": 2,
            "turn_ms": 341.4,
            "speculated": True,
            "overran": ["NLU"],
            "completes": False,
            "client_ms": 15.3,
            "request_id": "a",
            "kind": None,
            "negated": False,
            "readings": [],
            "values": [],
            "results": {"politeness": {"is_polite": True, "words": ["please"]}},
        },
    ),
]


@pytest.mark.parametrize(("event", "expected"), DICTS, ids=lambda it: type(it).__name__)
def test_an_event_as_a_dictionary(event: vivavoce.Event, expected: dict[str, object]) -> None:
    told = event.to_dict()

    assert told == expected
    assert list(told) == list(expected), "the order of the keys is kept"
    assert json.loads(json.dumps(told)) == expected


def test_what_is_not_there_is_null_or_left_out() -> None:
    told = REPLY.to_dict()

    assert told["answer"] is None
    assert "request_id" not in told
    unanswered = vivavoce.Reply(
        1, "", None, (), vivavoce.Answer("nine", 1.0, 0, 4, ""), REPLY.status, (), REPLY.latency, speculated=False
    ).to_dict()
    assert unanswered["intent"] is None
    assert unanswered["answer"] == {"text": "nine", "score": 1.0, "start": 0, "end": 4}
    assert "client_ms" not in unanswered


def test_every_event_has_one() -> None:
    assert {type(event) for event, _ in DICTS} == set(get_args(vivavoce.Event))


def test_the_command_prints_it_with_the_name_of_the_recording() -> None:
    stream = io.StringIO()
    view = JsonView(stream)
    view.begin("a.wav")
    view.show(WHOLE)

    assert stream.getvalue() == json.dumps({**WHOLE.to_dict(), "file": "a.wav"}) + "\n"
