"""The pure machine: nothing is made of a text in which words are known to be missing."""

import pytest

from pipelines.data.messages import Reply, Status, Transcript
from pipelines.data.stages import ASR, NLU, QA
from pipelines.turns import effects, events
from pipelines.turns.listening import PAUSE_LIMIT
from pipelines.vad.endpointing import EndpointingConfig
from tests.unit.pipelines.driver import Driver, emitted

PATIENT = EndpointingConfig(stop_window_seconds=10.0)
OUT_OF_ORDER = "out of order"


def assert_nothing_is_made_of(reply: Reply) -> None:
    assert (reply.understanding, reply.answer) == (None, None)


def said(driver: Driver) -> Reply:
    (reply,) = driver.said(Reply)
    return reply


def test_a_failure_in_the_middle_leaves_a_reply_without_an_intent():
    driver = Driver()
    driver.speak(1)
    driver.recognize("don't turn the light on")
    driver(events.RecognitionFailed(driver.segment, OUT_OF_ORDER))
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("and ruin, please", settled=True)
    assert driver.of(effects.RunStage) == []
    driver.pause(0.5)
    reply = said(driver)
    assert (reply.status, reply.transcript) == (Status.DEGRADED, "don't turn the light on and ruin, please")
    assert_nothing_is_made_of(reply)
    assert driver.state.phase == "idle"


def test_a_final_text_that_fails_leaves_nothing_of_what_was_worked_out_in_the_silence():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("turn on the lights")
    driver.understand()
    driver.pause(0.5)
    fresh = driver(events.RecognitionFailed(driver.segment, OUT_OF_ORDER))
    (transcript,) = (message for message in emitted(fresh, Transcript) if message.is_final)
    assert transcript.text == "turn on the lights"
    reply = said(driver)
    assert (reply.status, reply.speculated) == (Status.DEGRADED, False)
    assert_nothing_is_made_of(reply)
    fates = [effect.fate for effect in driver.of(effects.CountSpeculation)]
    assert fates == [effects.SpeculationFate.MADE, effects.SpeculationFate.DIFFERED]


def test_what_a_stage_finds_after_the_failure_does_not_count():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("turn on the lights")
    driver(events.RecognitionFailed(driver.segment, OUT_OF_ORDER))
    driver.understand()
    driver.pause(0.5)
    assert_nothing_is_made_of(said(driver))


def test_a_speculation_from_before_the_last_words_is_no_part_of_a_reply_that_comes_without_them():
    driver = Driver(endpointing=PATIENT)
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("turn off the alarm", settled=True)
    driver.understand()
    driver.pause(PAUSE_LIMIT * 0.032)
    driver.speak(0.032)
    driver(events.EndRequested(driver.state.heard_to, driver.now), events.DeadlinePassed(1))
    reply = said(driver)
    assert (reply.status, reply.overran) == (Status.PARTIAL, (ASR, NLU, QA))
    assert_nothing_is_made_of(reply)


@pytest.mark.parametrize("failed", [False, True])
def test_a_deadline_before_the_whole_text_is_known_tells_no_intent(failed: bool):
    driver = Driver(endpointing=PATIENT)
    driver.speak(1)
    driver.pause(PAUSE_LIMIT * 0.032)
    first = driver.segment
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("please", settled=True)
    assert driver.of(effects.RunStage) == [], "the first part is not known yet"
    driver(events.EndRequested(driver.state.heard_to, driver.now))
    if failed:
        driver(events.RecognitionFailed(first, OUT_OF_ORDER))
    else:
        driver(events.DeadlinePassed(1))
    reply = said(driver)
    assert_nothing_is_made_of(reply)
    assert (ASR in reply.overran) != failed
    assert driver.of(effects.RunStage) == []
