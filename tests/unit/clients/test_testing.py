"""The fake service that users' tests share with ours."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import vivavoce
from vivavoce._responses import event_from_response
from vivavoce.testing import Turn, answering, failing, serving
from vivavoce.testing._messages import response_of

LIGHT = Turn(
    "turn on the light",
    partials=("turn", "turn on the"),
    intent=vivavoce.Intent("lights_on", 0.5),
    slots=(vivavoce.Slot("device", "light", "light", 12, 17),),
    audio_seconds=1.0,
)
MUSEUM = Turn(
    "when does it open",
    answer=vivavoce.Answer("at nine", 0.75, 17, 24, "museum.txt"),
    latency=vivavoce.Latency(0.25, (vivavoce.StageLatency(vivavoce.Stage.QA, 0.125, 0.0625, "qa"),)),
    notices=((vivavoce.NoticeCode.STAGE_FAILED, "nlu failed: out of order"),),
    status=vivavoce.ReplyStatus.DEGRADED,
    speculated=True,
)
SECOND = np.zeros(16_000, np.int16)
HALF = SECOND[:8_000]


def _converse(address: str, said: list[Any], **options: Any) -> list[vivavoce.Event]:
    with vivavoce.sync.connect(address) as client:
        return list(client.converse(said, **options))


def test_a_conversation_goes_by_its_turns() -> None:
    with serving(LIGHT, MUSEUM) as service:
        said = [HALF, HALF, SECOND, vivavoce.EndOfUtterance("end"), SECOND, vivavoce.EndOfUtterance("more")]
        events = _converse(service.address, said, interim_results=True, documents=["It opens at nine."])

    reply = LIGHT.reply(1, LIGHT.transcript)
    found = [event for event in events if isinstance(event, vivavoce.Reply)]
    assert [(one.turn, one.transcript, one.request_id) for one in found] == [
        (1, "turn on the light", ""),
        (2, "when does it open", "end"),
    ]
    assert (found[0].intent, found[0].slots) == (reply.intent, reply.slots)
    assert (found[1].answer, found[1].latency, found[1].status) == (MUSEUM.answer, MUSEUM.latency, MUSEUM.status)
    assert [event for event in events if not isinstance(event, vivavoce.Reply)] == [
        vivavoce.Started("fake"),
        vivavoce.SpeechBegan(1, 0.0),
        vivavoce.Transcript(1, "turn", False, 0.0, 0.0),
        vivavoce.Transcript(1, "turn on the", False, 0.0, 0.0),
        vivavoce.SpeechEnded(1, 1.0, vivavoce.EndReason.SILENCE),
        vivavoce.Transcript(1, "turn on the light", True, 0.0, 1.0),
        vivavoce.SpeechBegan(2, 1.0),
        vivavoce.SpeechEnded(2, 2.0, vivavoce.EndReason.REQUESTED, "end"),
        vivavoce.Transcript(2, "when does it open", True, 1.0, 2.0, request_id="end"),
        vivavoce.Notice(vivavoce.NoticeCode.STAGE_FAILED, "nlu failed: out of order", 2, "end"),
        vivavoce.Notice(vivavoce.NoticeCode.NO_SPEECH, "nobody has spoken: send audio first", None, "more"),
    ]
    assert service.config().documents[0].text == "It opens at nine."
    assert service.audio() == bytes(3 * 32_000)


def test_each_conversation_begins_with_the_first_turn() -> None:
    with serving(LIGHT, MUSEUM) as service:
        for _ in range(2):
            events = _converse(service.address, [SECOND])
            assert [event.transcript for event in events if isinstance(event, vivavoce.Reply)] == [LIGHT.transcript]
            assert not any(isinstance(event, vivavoce.Transcript) and not event.is_final for event in events)
    assert service.conversations == 2


def test_the_end_of_the_audio_ends_an_utterance() -> None:
    with serving(MUSEUM) as service:
        audio = vivavoce.AudioFormat(vivavoce.Encoding.MULAW, 8_000)
        events = _converse(service.address, [bytes(4_000)], audio=audio)
    assert vivavoce.SpeechEnded(1, 0.5, vivavoce.EndReason.HALF_CLOSE) in events


def test_typed_turns_are_answered_by_their_text() -> None:
    said = [vivavoce.TypedTurn("when does it open", "a"), vivavoce.TypedTurn("hello", "b")]
    with serving(MUSEUM) as service, vivavoce.sync.connect(service.address) as client:
        replies = [event for event in client.converse(said, audio=None) if isinstance(event, vivavoce.Reply)]
        asked = [client.ask("when does it open"), client.ask("hello")]

    assert service.texts() == ["when does it open", "hello"]
    assert [request.text for request in service.asked] == ["when does it open", "hello"]
    for first, second in (replies, asked):
        assert first.answer == MUSEUM.answer
        assert (second.transcript, second.answer, second.intent) == ("hello", None, vivavoce.Intent("none", 1.0))
    assert [reply.request_id for reply in replies] == ["a", "b"]


def test_without_turns_a_command_is_heard_again_and_again() -> None:
    said = [SECOND, vivavoce.EndOfUtterance()] * 3
    with serving() as service:
        events = _converse(service.address, said)
    assert [event.transcript for event in events if isinstance(event, vivavoce.Reply)] == ["turn on the light"] * 3


ERRORS = [
    vivavoce.InvalidRequest("the text is empty: send some", field="text", reason="EMPTY_TEXT"),
    vivavoce.Overloaded(
        "full: come back", code="RESOURCE_EXHAUSTED", reason="TOO_MANY_CONVERSATIONS", retry_after_seconds=1.5
    ),
    vivavoce.ServerUnavailable("not ready: come back", reason="NOT_READY", retry_after_seconds=2.0),
    vivavoce.ResponseOverdue("it took too long"),
    vivavoce.AccessDenied("who are you", code="UNAUTHENTICATED"),
    vivavoce.Incompatible("no such method", code="UNIMPLEMENTED"),
    vivavoce.ServerFailed("a model failed", code="INTERNAL", reason="MODEL_FAILED"),
    vivavoce.ServerFailed("given up", code="ABORTED", retryable=True),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_are_raised_in_the_client(error: vivavoce.VivavoceError) -> None:
    with serving(Turn("hello", error=error)) as service, vivavoce.sync.connect(service.address) as client:
        with pytest.raises(type(error)) as asked:
            client.ask("hello")
        with pytest.raises(type(error)) as spoken:
            list(client.converse([SECOND]))
        service.script = failing(error)
        with pytest.raises(type(error)) as refused:
            list(client.converse([SECOND]))

    for caught in (asked, spoken, refused):
        found, expected = vars(caught.value), vars(error)
        assert {**found, "reason": ""} == {**expected, "reason": ""}
        assert found.get("reason") in {expected.get("reason"), "SCRIPTED"}


def test_a_reply_may_take_its_time() -> None:
    with serving(Turn("hello", delay_seconds=0.2)) as service, vivavoce.sync.connect(service.address) as client:
        began = time.monotonic()
        client.ask("hello")
        assert time.monotonic() - began >= 0.2
        service.answer = answering()
        assert client.ask("hello").transcript == "hello"


@pytest.mark.parametrize(
    "event",
    [
        vivavoce.Started("c-1"),
        vivavoce.SpeechBegan(2, 0.25),
        vivavoce.Transcript(2, "on", True, 0.25, 1.5, (vivavoce.Alternative("on", 0.5),), 0.5, "a"),
        vivavoce.SpeechEnded(2, 1.5, vivavoce.EndReason.REQUESTED, "a"),
        vivavoce.Notice(vivavoce.NoticeCode.NO_SPEECH, "Speak.", None, "a"),
        vivavoce.GoingAway(vivavoce.GoingAwayReason.SHUTDOWN, 5.0),
        vivavoce.GoingAway(vivavoce.GoingAwayReason.UNKNOWN, 5.0),
        vivavoce.SpeechEnded(2, 1.5, vivavoce.EndReason.UNKNOWN),
        MUSEUM.reply(3, "when does it open", "a"),
        Turn("", intent=None, status=vivavoce.ReplyStatus.PARTIAL, overran=(vivavoce.Stage.NLU,)).reply(1, ""),
        Turn("a", results={"politeness": {"is_polite": True, "words": ["a"]}}).reply(1, "a"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_that_is_written_is_read_as_it_was(event: vivavoce.Event) -> None:
    assert event_from_response(response_of(event)) == event


def test_what_the_client_makes_no_server_tells() -> None:
    with pytest.raises(TypeError, match="A server does not tell Reconnected"):
        response_of(vivavoce.Reconnected(0.0, 0.0))
