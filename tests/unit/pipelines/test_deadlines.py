"""Until when a turn's text, and what is made of it, are of use."""

from __future__ import annotations

import pytest

from pipelines.turns import events
from pipelines.turns.deadlines import reply_due, speculation_seconds, stages_due, text_due
from pipelines.turns.state import TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from tests.unit.pipelines.driver import Driver


def test_a_speculation_is_of_use_until_the_silence_and_the_budget_are_over():
    driver = Driver(budget_seconds=0.25)
    driver.speak(1)
    driver.pause(0.2)
    assert text_due(driver.state, driver.segment, 5.0) == pytest.approx(5.0 + 0.6 - 0.16 + 0.25, abs=0.01)
    assert reply_due(driver.state, 1, 5.0) == text_due(driver.state, driver.segment, 5.0)
    assert stages_due(driver.state, 1, 5.0) == pytest.approx(reply_due(driver.state, 1, 5.0) + 10)


def test_when_the_utterance_is_over_the_budget_counts_from_there():
    driver = Driver(budget_seconds=0.25)
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 7.0))
    assert text_due(driver.state, driver.segment, 7.1) == 7.25
    assert reply_due(driver.state, 1, 7.1) == 7.25
    assert stages_due(driver.state, 1, 7.1) == 17.25, "what comes late completes the reply"


def test_nobody_knows_when_somebody_lets_go_of_the_key():
    driver = Driver(endpointing=EndpointingConfig(enabled=False))
    driver.speak(1)
    assert text_due(driver.state, driver.segment, 5.0) is None
    assert stages_due(driver.state, 1, 5.0) is None


def test_a_text_without_a_reply_is_of_use_whenever_it_comes():
    driver = Driver(replies=False)
    driver.speak(1)
    assert text_due(driver.state, driver.segment, 5.0) is None


def test_nobody_waits_for_the_text_of_a_segment_that_is_gone():
    driver = Driver()
    driver.speak(1)
    assert text_due(driver.state, driver.segment + 1, 5.0) is None


def test_a_stop_window_shorter_than_the_pause_leaves_no_silence_to_work_in():
    assert speculation_seconds(TurnSettings(endpointing=EndpointingConfig(stop_window_seconds=0.128))) == 0
