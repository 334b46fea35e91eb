"""The pure machine: what is worked out in the silence after an utterance, and when its text is final."""

import pytest

from pipelines.data.answers import AnswerSearch
from pipelines.data.messages import Notice, Reply, SpeechEnded, Status, Transcript
from pipelines.data.stages import NLU, QA
from pipelines.turns import effects, events
from pipelines.vad.endpointing import EndpointingConfig
from tests.unit.pipelines.driver import CACHED, UNDERSTANDING, Driver, emitted, finished

TWO_PASSES = EndpointingConfig(stop_window_seconds=1.6, likely_stop_window_seconds=0.256)


def test_a_settled_text_is_final_without_asking_again():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("turn on the lights", settled=True)
    driver.understand()
    ended = driver.pause(0.5)
    assert [message.text for message in emitted(ended, Transcript) if message.is_final] == ["turn on the lights"]
    (reply,) = emitted(ended, Reply)
    assert (reply.status, reply.speculated, reply.transcript) == (Status.COMPLETE, True, "turn on the lights")
    assert driver.of(effects.CloseSegment) == [effects.CloseSegment(driver.segment)], (
        "the sequence is ended all the same"
    )
    assert driver.recognize("turn on the lights", final=True, timing=CACHED) == []
    assert driver(events.RecognitionFailed(driver.segment, "gone")) == []


def test_a_settled_text_is_not_final_when_more_was_said():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("turn on", settled=True)
    driver.speak(0.5)
    driver.pause(0.2)
    ended = driver.pause(0.5)
    assert emitted(ended, SpeechEnded)
    assert not emitted(ended, Reply)
    driver.recognize("turn on the lights", final=True)
    (reply,) = emitted(driver.understand(), Reply)
    assert reply.transcript == "turn on the lights"


def test_a_settled_text_that_comes_after_the_end_is_final_too():
    driver = Driver()
    driver.speak(1)
    assert not emitted(driver.pause(0.7), Transcript), "the recognizer is late"
    fresh = driver.recognize("turn on the lights", settled=True)
    assert [(message.text, message.is_final) for message in emitted(fresh, Transcript)] == [
        ("turn on the lights", True)
    ]
    (reply,) = emitted(driver.understand(), Reply)
    assert (reply.status, reply.speculated) == (Status.COMPLETE, False)


def test_a_failure_after_the_text_is_final_costs_the_reply_nothing():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("turn on the lights", settled=True)
    driver.pause(0.5)
    assert driver(events.RecognitionFailed(driver.segment, "gone")) == []
    (reply,) = emitted(driver.understand(), Reply)
    assert reply.status is Status.COMPLETE


def failed_to_understand(text: str) -> tuple[Driver, int]:
    """A pause in which a speculation was not understood, of which nothing is told yet; and its number."""
    driver = Driver()
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize(text, settled=True)
    speculation = driver.of(effects.RunStage)[-1].speculation
    assert driver(events.StageFailed(1, speculation, NLU, "out of order")) == []
    return driver, speculation


def test_a_failed_speculation_that_more_speech_replaces_is_not_told():
    driver, _ = failed_to_understand("turn on")
    driver.speak(0.5)
    driver.pause(0.2)
    driver.recognize("turn on the lights", settled=True)
    driver.understand()
    driver.pause(0.5)
    (reply,) = driver.said(Reply)
    assert (reply.status, reply.transcript) == (Status.COMPLETE, "turn on the lights")
    assert driver.said(Notice) == []


def test_a_failed_speculation_that_becomes_the_reply_is_told_before_it():
    driver, _speculation = failed_to_understand("turn on the lights")
    driver(*finished(driver.of(effects.RunStage)[-1], QA, AnswerSearch()))
    ended = driver.pause(0.5)
    told = [each.message for each in ended if isinstance(each, effects.Emit)]
    assert [type(message) for message in told[-2:]] == [Notice, Reply]
    assert "out of order" in told[-2].message
    assert told[-1].status is Status.DEGRADED


def test_a_better_text_of_the_same_pause_is_speculated_in_the_place_of_the_first():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("turn on the light")
    first = driver.of(effects.RunStage)[-1]
    driver.recognize("turn on the lights", settled=True)
    second = driver.of(effects.RunStage)[-1]
    assert (second.text, second.speculation) == ("turn on the lights", first.speculation + 1)
    assert driver(*finished(first, NLU, UNDERSTANDING)) == [], "nobody waits for the first any more"
    driver.understand()
    (reply,) = emitted(driver.pause(0.5), Reply)
    assert (reply.transcript, reply.speculated) == ("turn on the lights", True)
    fates = [count.fate for count in driver.of(effects.CountSpeculation)]
    made, differed, hit = effects.SpeculationFate.MADE, effects.SpeculationFate.DIFFERED, effects.SpeculationFate.HIT
    assert fates == [made, differed, made, hit]


def test_the_same_text_again_is_not_speculated_again():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.2)
    driver.recognize("turn on the lights")
    assert not driver.recognize("turn on the lights", settled=True)
    assert [run.stage for run in driver.of(effects.RunStage)] == [NLU, QA]


def test_a_speculation_is_dropped_when_speech_resumes():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize("turn on")
    speculation = driver.of(effects.RunStage)[-1]
    driver.speak(0.5)
    driver(*finished(speculation, NLU, UNDERSTANDING))
    driver.pause(0.3)
    driver.recognize("turn on the lights")
    driver.understand()
    driver.pause(0.5)
    driver.recognize("turn on the lights", final=True, timing=CACHED)
    (reply,) = driver.said(Reply)
    assert reply.transcript == "turn on the lights"
    assert reply.speculated


def test_a_wrong_speculation_is_made_good_after_the_end():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize("turn on the light")
    driver.understand()
    driver.pause(0.5)
    driver.recognize("turn on the lights", final=True)
    assert driver.said(Reply) == []
    driver.understand()
    (reply,) = driver.said(Reply)
    assert (reply.transcript, reply.speculated) == ("turn on the lights", False)


@pytest.mark.parametrize(
    ("speculation", "resumes", "fate"),
    [
        ("turn on the lights", False, effects.SpeculationFate.HIT),
        ("turn on the light", False, effects.SpeculationFate.DIFFERED),
        ("turn on", True, effects.SpeculationFate.RESUMED),
    ],
)
def test_what_becomes_of_a_speculation_is_counted(speculation: str, resumes: bool, fate: effects.SpeculationFate):
    driver = Driver()
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize(speculation)
    if resumes:
        driver.speak(1)
    driver.pause(0.7)
    driver.recognize("turn on the lights", final=True)
    assert [effect.fate for effect in driver.of(effects.CountSpeculation)] == [effects.SpeculationFate.MADE, fate]


def test_where_nothing_is_replied_no_speculation_is_counted():
    driver = Driver(replies=False)
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize("turn on")
    driver.speak(1)
    driver.pause(0.7)
    driver.recognize("turn on the lights", final=True)
    assert driver.of(effects.CountSpeculation) == []


def test_without_speculation_nothing_is_understood_before_the_end():
    driver = Driver(speculates=False)
    driver.speak(1)
    driver.pause(0.4)
    assert not any(sent.decode for sent in driver.of(effects.SendAudio))
    driver.recognize("turn on")
    assert driver.of(effects.RunStage) == []


def test_a_likely_end_is_told_once_all_that_was_said_is_recognized():
    talk = Driver(endpointing=TWO_PASSES)
    talk.speak(1.0)
    assert not emitted(talk.pause(0.32), Transcript)
    heard = emitted(talk.recognize("turn on the light"), Transcript)
    (transcript,) = (each for each in heard if each.end_is_likely)
    assert (transcript.text, transcript.is_final) == ("turn on the light", False)
    assert not emitted(talk.pause(0.32), Transcript)


def test_a_likely_end_is_told_at_once_if_all_is_recognized_already():
    talk = Driver(endpointing=TWO_PASSES)
    talk.speak(1.0)
    talk.pause(0.224)
    talk.recognize("turn on the light")
    (transcript,) = emitted(talk.pause(0.064), Transcript)
    assert transcript.end_is_likely


def test_a_likely_end_that_speech_belies_is_not_told():
    talk = Driver(endpointing=TWO_PASSES)
    talk.speak(1.0)
    talk.pause(0.32)
    talk.speak(0.32)
    assert not [each for each in emitted(talk.recognize("turn on the light"), Transcript) if each.end_is_likely]


def test_without_interim_results_a_likely_end_is_not_told():
    talk = Driver(endpointing=TWO_PASSES, interim_results=False)
    talk.speak(1.0)
    talk.pause(0.32)
    assert not emitted(talk.recognize("turn on the light"), Transcript)
