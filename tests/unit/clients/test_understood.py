"""What an utterance means: from the message to the events and to JSON."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

import vivavoce
from vivavoce._requests import ask_request, conversation_config
from vivavoce._responses import reply_event
from vivavoce._understood import understood
from vivavoce.cli._rows import reply_rows
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXT = "wake me at seven and call a taxi"
SEVEN = reply_pb2.Value(
    kind=reply_pb2.VALUE_KIND_TIME, value="07:00", alternative="19:00", text="seven", start=11, end=16
)
SLOT = reply_pb2.Slot(name="time", value="seven", text="seven", start=11, end=16, resolved=SEVEN)
INTENT = reply_pb2.Intent(name="alarm_set", confidence=0.75, kind=reply_pb2.UTTERANCE_KIND_COMMAND, negated=True)
MESSAGE = reply_pb2.Reply(
    turn=1,
    transcript=TEXT,
    intent=reply_pb2.Intent(candidates=[reply_pb2.IntentCandidate(name="alarm_set", confidence=0.75)]),
    slots=[SLOT],
    readings=[
        reply_pb2.Reading(intent=INTENT, slots=[SLOT], start=0, end=16),
        reply_pb2.Reading(intent=reply_pb2.Intent(name="taxi", confidence=0.5), start=21, end=32),
    ],
    values=[SEVEN],
)
MESSAGE.intent.MergeFrom(INTENT)

VALUE = vivavoce.Value(vivavoce.ValueKind.TIME, "07:00", "", "19:00", "seven", 11, 16)


def test_events_hold_what_the_message_holds():
    reply = reply_event(MESSAGE)
    assert reply.intent is not None
    assert reply.intent.kind is vivavoce.UtteranceKind.COMMAND
    assert reply.intent.negated
    assert reply.intent.candidates == (vivavoce.IntentCandidate("alarm_set", 0.75),)
    assert reply.values == (VALUE,)
    assert reply.slots[0].resolved == VALUE
    assert [(part.intent.name, TEXT[part.start : part.end]) for part in reply.readings] == [
        ("alarm_set", "wake me at seven"),
        ("taxi", "call a taxi"),
    ]


def test_a_server_of_before_tells_none_of_that():
    reply = reply_event(reply_pb2.Reply(intent=reply_pb2.Intent(name="taxi"), slots=[reply_pb2.Slot(name="time")]))
    assert reply.intent == vivavoce.Intent("taxi", 0.0)
    assert reply.slots[0].resolved is None
    assert (reply.readings, reply.values) == ((), ())


def test_kinds_of_a_newer_server_are_unknown():
    reply = reply_event(reply_pb2.Reply(intent=reply_pb2.Intent(kind=99), values=[reply_pb2.Value(kind=99)]))  # type: ignore[arg-type]
    assert reply.intent is not None
    assert reply.intent.kind is vivavoce.UtteranceKind.UNKNOWN
    assert reply.values[0].kind is vivavoce.ValueKind.UNKNOWN


def test_as_json():
    value = {"kind": "time", "value": "07:00", "text": "seven", "alternative": "19:00", "start": 11, "end": 16}
    reply = reply_event(MESSAGE)
    told: Mapping[str, object] = understood(reply.intent, reply.readings, reply.values)
    assert told["kind"] == "command"
    assert told["negated"] is True
    assert told["candidates"] == [{"name": "alarm_set", "confidence": 0.75}]
    assert told["values"] == [value]
    assert told["readings"] == [
        {
            "intent": {"name": "alarm_set", "confidence": 0.75},
            "kind": "command",
            "negated": True,
            "slots": [{"name": "time", "value": "seven", "text": "seven", "resolved": value}],
            "start": 0,
            "end": 16,
        },
        {
            "intent": {"name": "taxi", "confidence": 0.5},
            "kind": None,
            "negated": False,
            "slots": [],
            "start": 21,
            "end": 32,
        },
    ]


def test_without_an_intent_there_are_no_such_keys():
    assert understood(None, (), ()) == {}


def test_people_are_told_the_parts():
    rows = [(row.label, row.text) for row in reply_rows(reply_event(MESSAGE), 0.3)]
    assert rows[:3] == [
        ("intent", "alarm_set (75%, negated command)"),
        ("part", "alarm_set, time = seven"),
        ("part", "taxi"),
    ]


def test_requests_carry_the_clock_and_what_is_asked():
    noon = dt.datetime(2026, 11, 26, 13, 0, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    request = ask_request("hello", {"max_intents": 3, "time_zone": "Europe/Berlin", "current_time": noon})
    assert (request.max_intents, request.time_zone) == (3, "Europe/Berlin")
    assert request.current_time.ToDatetime(dt.timezone.utc) == noon
    config = conversation_config({"ignore_engine_hints": True})
    assert config.ignore_engine_hints
    assert not config.HasField("current_time")


def test_a_number_of_intents_that_no_message_holds_is_refused():
    with pytest.raises(vivavoce.InvalidRequest, match="max_intents"):
        ask_request("hello", {"max_intents": 1 << 40})
