"""How much of a spoken reply was heard."""

import pytest

from pipelines.data.speech import Mark
from pipelines.turns.voicing import REPORT_GRACE_SECONDS, Voicing

SPOKEN = Voicing(1, "One two three four. Five six.", is_started=True)


def test_audio_is_played_as_it_comes() -> None:
    voicing = SPOKEN.sent(1.0, 10.0, (), is_last=False)
    assert voicing.at(10.4).heard_seconds == pytest.approx(0.4)
    assert voicing.at(12.0).heard_seconds == 1.0, "more than was sent cannot be heard"


def test_what_comes_after_a_gap_is_played_from_its_coming_on() -> None:
    voicing = SPOKEN.sent(1.0, 10.0, (), is_last=False).sent(1.0, 15.0, (), is_last=True)
    assert voicing.at(15.5).heard_seconds == pytest.approx(1.5)
    assert not voicing.at(15.9).is_over
    assert voicing.at(16.0).is_over


def test_the_reply_before_is_played_first() -> None:
    waiting = Voicing(2, "Two.", now=10.0, played_seconds=-0.5)
    voicing = waiting.sent(2.0, 10.1, (), is_last=False)
    assert voicing.at(10.4).heard_seconds == 0.0
    assert voicing.at(11.0).heard_seconds == pytest.approx(0.5)


def test_the_caller_knows_better() -> None:
    voicing = SPOKEN.sent(2.0, 10.0, (), is_last=True).reported(0.25, 11.0, is_finished=False)
    assert voicing.at(11.5).heard_seconds == 0.25
    assert voicing.reported(9.0, 11.6, is_finished=False).heard_seconds == 2.0, "more than was sent cannot be heard"
    assert voicing.reported(2.0, 12.0, is_finished=True).is_over


def test_a_caller_who_tells_nothing_more_is_not_waited_for_for_ever() -> None:
    voicing = SPOKEN.sent(1.0, 10.0, (), is_last=True).reported(0.5, 10.5, is_finished=False)
    assert not voicing.at(11.5).is_over
    assert voicing.at(10.5 + REPORT_GRACE_SECONDS).is_over


def test_the_words_that_were_heard_are_told() -> None:
    marks = (Mark("One two three four.", 0.0), Mark("Five six.", 2.0))
    voicing = SPOKEN.sent(3.0, 10.0, marks, is_last=True)
    assert voicing.heard_text() == ""
    assert voicing.at(11.0).heard_text() == "One two"
    assert voicing.at(12.0).heard_text() == "One two three four."
    assert voicing.at(13.0).heard_text() == "One two three four. Five six."


def test_of_a_sentence_without_an_end_yet_the_pace_of_speech_tells() -> None:
    text = "One two three four five six seven eight nine ten."
    voicing = SPOKEN.sent(1.0, 10.0, (Mark(text, 0.0),), is_last=False)
    assert 1 <= len(voicing.at(11.0).heard_text().split()) <= 5
