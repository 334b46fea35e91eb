"""What of a text that may still change is told."""

from __future__ import annotations

import pytest

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.messages import Transcript
from pipelines.data.recognition import Hypothesis
from pipelines.turns import events
from pipelines.turns.stability import EARLY_SAMPLES, common_words, stable_text
from tests.unit.pipelines.driver import COST, Driver, emitted

LATE = EARLY_SAMPLES + MODEL_RATE_HZ


def told_of(texts: list[str], first_at: int = LATE) -> list[str]:
    """What is told after each of the texts."""
    told = previous = ""
    found = []
    for number, text in enumerate(texts):
        told = stable_text(text, previous=previous, told=told, samples=first_at + number * 6400) or told
        previous = text
        found.append(told)
    return found


def test_the_first_words_are_told_at_once_and_change_as_the_recognizer_changes_its_mind():
    texts = ["Gag,", "Give me.", "Get me a large.", "Get me a large dark."]
    assert told_of(texts, 9600) == ["Gag", "Give me", "Get me", "Get me a large"]


def test_two_decodings_that_agree_decide_on_the_last_words():
    texts = ["turn on the light in the kid", "turn on the light in the kitten now", "turn on the light in the kitchen"]
    assert told_of(texts) == ["turn on", "turn on the light in the", "turn on the light in the"]


def test_told_words_stay_until_two_decodings_agree_on_others():
    texts = [
        "a small cup of tea",
        "a small cup of tea",
        "a tall",
        "a small cup of tea please",
        "a tall cup",
        "a tall cup",
    ]
    assert told_of(texts) == ["a small", *["a small cup of tea"] * 4, "a tall cup"]


def test_capitals_and_marks_are_no_disagreement():
    assert told_of(["What is it now.", "what is it, now then."])[-1] == "what is it, now"


def test_no_mark_ends_what_may_go_on():
    assert told_of(["Make me a coffee.", "Make me a coffee."])[-1] == "Make me a coffee"


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [("", "a b", 0), ("a b", "a b c", 2), ("A, b", "a b.", 2), ("x b", "a b", 0), ("a b", "a c", 1)],
)
def test_common_words(one: str, other: str, count: int):
    assert common_words(one.split(), other.split()) == count
    assert common_words(other.split(), one.split()) == count


def partials(driver: Driver, text: str) -> list[str]:
    (segment,) = [driver.segment]
    covered = driver.sent(segment)[-1].stop - driver.sent(segment)[0].start
    fresh = driver(events.Transcribed(segment, Hypothesis(text, covered, False, COST)))
    return [message.text for message in emitted(fresh, Transcript)]


def test_a_pause_tells_all_of_it():
    driver = Driver()
    driver.speak(3)
    assert partials(driver, "one two three four.") == ["one two"]
    driver.pause(0.3)
    assert partials(driver, "one two three four.") == ["one two three four."]


def test_nothing_is_told_twice_and_no_text_goes_back_to_nothing():
    driver = Driver()
    driver.speak(3)
    assert partials(driver, "one two three") == ["one two"]
    driver.speak(0.4)
    assert partials(driver, "") == []
    driver.speak(0.4)
    assert partials(driver, "one two") == []
