"""Texts that have no speech under them are not told."""

from __future__ import annotations

import pytest

from pipelines.data.messages import Reply, SpeechEnded, Transcript
from pipelines.data.recognition import Hypothesis
from pipelines.turns import effects, events
from pipelines.vad.endpointing import EndpointingConfig
from tests.unit.pipelines.driver import COST, Driver


def heard(driver: Driver, probabilities: list[float]) -> list[Transcript]:
    """Hears windows and a pause; returns the final transcripts of what the recognizer makes of it."""
    for probability in probabilities:
        driver.hear(0.032, probability)
    driver.pause(1)
    assert len(driver.said(SpeechEnded)) == 1
    sent = driver.sent(driver.segment)
    driver(events.Transcribed(driver.segment, Hypothesis("You", sent[-1].stop - sent[0].start, True, COST)))
    return [message for message in driver.said(Transcript) if message.is_final]


def test_a_lone_word_on_noise_that_is_hardly_speech_is_not_told():
    driver = Driver()
    assert [final.text for final in heard(driver, [0.55, 0.6, 0.52, 0.5])] == [""]
    assert driver.said(Reply)[0].transcript == ""
    assert driver.of(effects.RunStage) == []


@pytest.mark.parametrize(
    "probabilities",
    [[0.55, 0.72, 0.6, 0.5], [1.0] * 3, [0.55] * 20],
    ids=["a short word", "a click of the tongue", "much that may be speech"],
)
def test_a_word_with_speech_under_it_is_told(probabilities: list[float]):
    assert [final.text for final in heard(Driver(), probabilities)] == ["You"]


def test_a_caller_who_takes_less_for_speech_gets_it():
    endpointing = EndpointingConfig(speech_begins=0.3, speech_ends=0.3)
    assert [final.text for final in heard(Driver(endpointing=endpointing), [0.4, 0.52, 0.4])] == ["You"]


def test_what_the_caller_ended_is_told():
    driver = Driver()
    for probability in (0.55, 0.6, 0.52, 0.5):
        driver.hear(0.032, probability)
    driver(events.EndRequested(driver.state.heard_to, driver.now))
    driver.recognize("You", final=True)
    assert [message.text for message in driver.said(Transcript) if message.is_final] == ["You"]
