"""The model of the harness of faults: a record in order passes, and each violation is caught."""

from __future__ import annotations

import pytest

import vivavoce
from tests.robustness.harness.judge import EVERYTHING, Promise, Rule, judge
from tests.robustness.harness.record import Record, Said

LIGHTS = Said("bedroom", "Turn off the lights in the bedroom.")
TYPED = Said("crimson", "turn on the crimson light", is_typed=True)
COMPLETE, PARTIAL = vivavoce.ReplyStatus.COMPLETE, vivavoce.ReplyStatus.PARTIAL


def partial(turn: int, text: str = "Turn") -> vivavoce.Transcript:
    return vivavoce.Transcript(turn, text, False, 0.0, 1.0)


def final(turn: int, text: str = LIGHTS.text) -> vivavoce.Transcript:
    return vivavoce.Transcript(turn, text, True, 0.0, 1.0)


def reply(turn: int, text: str = LIGHTS.text, status: vivavoce.ReplyStatus = COMPLETE) -> vivavoce.Reply:
    return vivavoce.Reply(turn, text, None, (), None, status, (), vivavoce.Latency(0.1, ()), False)


def answered(turn: int) -> list[vivavoce.Event]:
    return [partial(turn), final(turn), reply(turn)]


def rules(
    *events: vivavoce.Event, said: int = 1, promise: Promise = EVERYTHING, ended: str = "", message: str = ""
) -> list[Rule]:
    """Judges the record of one speaker, who talks beside a typist."""
    record = Record("speaker", [LIGHTS] * said, [vivavoce.Started("1"), *events], ended, message)
    typist = Record("typist", [TYPED], [reply(1, TYPED.text)])
    return [violation.rule for violation in judge([record, typist], promise)]


def test_a_record_in_order_passes():
    assert rules(*answered(1), *answered(2), said=2) == []


def test_a_turn_that_begins_again_after_a_reconnection_passes():
    again = vivavoce.Reconnected(0.0, 1.0)
    assert rules(*answered(1), partial(2), final(2), again, *answered(2), said=2) == []


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([partial(1), reply(1), final(1)], Rule.REPLY_AFTER_FINAL),
        ([final(1), partial(1), reply(1)], Rule.FINAL_AFTER_PARTIALS),
        ([partial(1), final(1), final(1), reply(1)], Rule.ONE_FINAL),
        ([partial(1), reply(1, status=PARTIAL)], Rule.ONE_FINAL),
        ([*answered(1), reply(1)], Rule.ONE_REPLY),
        ([partial(1), final(1)], Rule.ONE_REPLY),
        ([], Rule.ONE_REPLY),
        ([*answered(1), *answered(2)], Rule.NO_GAPS),
        (answered(2), Rule.NO_GAPS),
        ([*answered(1), partial(1)], Rule.FINAL_AFTER_PARTIALS),
        ([final(1), reply(1, "Turn off the crimson lights in the bedroom.")], Rule.NO_STRANGER),
        ([partial(1, "Crimson"), final(1), reply(1)], Rule.NO_STRANGER),
        ([final(1, "Turn off the lights."), reply(1)], Rule.WHOLE_TEXT),
        ([final(1), reply(1, "Turn off the lights.")], Rule.WHOLE_TEXT),
        ([final(1), reply(1, status=PARTIAL)], Rule.WHOLE_REPLY),
        ([final(1), reply(1, status=vivavoce.ReplyStatus.DEGRADED)], Rule.WHOLE_REPLY),
    ],
)
def test_each_violation_is_caught(events: list[vivavoce.Event], rule: Rule):
    assert rule in rules(*events)


def test_a_turn_left_out_between_two_is_caught():
    assert set(rules(*answered(1), *answered(3), said=3)) == {Rule.ONE_REPLY, Rule.ONE_FINAL}


def test_a_reconnection_excuses_no_second_reply():
    again = vivavoce.Reconnected(0.0, 1.0)
    assert Rule.ONE_REPLY in rules(*answered(1), again, *answered(1))


def test_an_alternative_of_somebody_else_is_caught():
    strange = vivavoce.Transcript(1, LIGHTS.text, True, 0.0, 1.0, (vivavoce.Alternative("crimson", 0.1),))
    assert rules(strange, reply(1)) == [Rule.NO_STRANGER]


def test_a_conversation_that_ends_early_is_caught_unless_it_may():
    assert rules(*answered(1), partial(2), said=2, ended="ServerUnavailable") == [Rule.ENDS_IN_ORDER]
    assert rules(*answered(1), said=2, ended="ServerUnavailable", promise=Promise(may_end=True)) == []


def test_what_was_answered_before_a_gap_counts_even_in_a_conversation_that_may_end():
    broken = rules(*answered(1), *answered(3), said=3, ended="ServerUnavailable", promise=Promise(may_end=True))
    assert set(broken) == {Rule.ONE_REPLY, Rule.ONE_FINAL}


def test_a_server_that_shuts_down_without_a_word_is_caught():
    message = "the server shuts down: connect to another one, or again later"
    may_end = Promise(may_end=True)
    assert rules(*answered(1), ended="ServerUnavailable", message=message, promise=may_end) == [Rule.WARNS]
    away = vivavoce.GoingAway(vivavoce.GoingAwayReason.SHUTDOWN, 5.0)
    assert rules(*answered(1), away, ended="ServerUnavailable", message=message, promise=may_end) == []


def test_a_conversation_that_hangs_is_caught():
    record = Record("speaker", [LIGHTS], answered(1), seconds=1_000.0)
    assert [violation.rule for violation in judge([record])] == [Rule.ENDS_IN_TIME]


def test_words_and_parts_may_be_missing_where_that_was_said_before():
    events = [final(1, "Turn off."), reply(1, "Turn off.", vivavoce.ReplyStatus.DEGRADED)]
    assert rules(*events, promise=Promise(may_lack=True)) == []


def test_a_typed_turn_needs_no_transcript():
    assert judge([Record("typist", [TYPED], [reply(1, TYPED.text)])]) == []


def test_a_violation_is_told_in_one_line_without_what_was_said():
    (violation,) = judge([Record("speaker", [LIGHTS], [final(1, "Turn off the"), reply(1)])])
    assert str(violation) == "speaker: WHOLE_TEXT: turn 1: 4 words are missing, 0 are new"
