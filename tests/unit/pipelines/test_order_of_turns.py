"""The pure machine: in which order turns that are worked on side by side are told."""

from pipelines.data.messages import Reply, SpeechBegan, SpeechEnded, Status, Transcript
from pipelines.data.recognition import Hypothesis
from pipelines.data.stages import NLU, QA
from pipelines.turns import effects, events
from tests.unit.pipelines.driver import COST, FOUND, UNDERSTANDING, Driver, emitted, finished


def spoken(driver: Driver) -> int:
    """Says an utterance up to its end, and returns its segment."""
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, driver.now))
    return driver.segment


def recognized(driver: Driver, segment: int, text: str) -> list[effects.Effect]:
    sent = driver.sent(segment)
    return driver(events.Transcribed(segment, Hypothesis(text, sent[-1].stop - sent[0].start, True, COST)))


def answered(driver: Driver, turn: int) -> list[effects.Effect]:
    run = [wanted for wanted in driver.of(effects.RunStage) if wanted.turn == turn][-1]
    return driver(*finished(run, NLU, UNDERSTANDING), *finished(run, QA, FOUND))


def told(fresh: list[effects.Effect]) -> list[tuple[type, int]]:
    return [
        (type(message), message.turn)
        for message in emitted(fresh, Transcript | Reply)
        if isinstance(message, Reply) or message.is_final
    ]


def test_a_turn_that_is_done_before_an_earlier_one_waits_for_it():
    driver = Driver()
    first, second = spoken(driver), spoken(driver)
    assert told(recognized(driver, second, "two")) == []
    assert told(answered(driver, 2)) == []
    assert told(recognized(driver, first, "one")) == [(Transcript, 1), (Transcript, 2)]
    assert told(answered(driver, 1)) == [(Reply, 1), (Reply, 2)]
    assert driver.state.ending == ()


def test_work_on_a_turn_begins_before_it_is_told():
    driver = Driver()
    _, second = spoken(driver), spoken(driver)
    fresh = recognized(driver, second, "two")
    assert [effect.text for effect in fresh if isinstance(effect, effects.RunStage)] == ["two", "two"]


def test_no_reply_waits_beyond_the_deadline_of_the_turn_before():
    driver = Driver()
    _, second = spoken(driver), spoken(driver)
    recognized(driver, second, "two")
    answered(driver, 2)
    fresh = driver(events.DeadlinePassed(1))
    assert [(reply.turn, reply.status) for reply in emitted(fresh, Reply)] == [
        (1, Status.PARTIAL),
        (2, Status.COMPLETE),
    ]
    assert driver(events.DeadlinePassed(2)) == []


def test_a_turn_whose_beginning_failed_keeps_nobody_waiting():
    driver = Driver()
    first, second = spoken(driver), spoken(driver)
    recognized(driver, second, "two")
    answered(driver, 2)
    fresh = driver(events.RecognitionFailed(first, "out of order"))
    assert told(fresh) == [(Transcript, 1), (Transcript, 2), (Reply, 1), (Reply, 2)] or told(fresh) == [
        (Transcript, 1),
        (Reply, 1),
        (Transcript, 2),
        (Reply, 2),
    ]


def test_speech_is_told_at_once_whatever_is_waited_for():
    driver = Driver()
    spoken(driver)
    driver.speak(1)
    assert [message.turn for message in driver.said(SpeechBegan)] == [1, 2]
    assert [partial.turn for partial in emitted(driver.recognize("and"), Transcript)] == [2]
    fresh = driver(events.EndRequested(driver.state.heard_to, driver.now))
    assert [message.turn for message in emitted(fresh, SpeechEnded)] == [2]


def test_what_is_typed_while_somebody_speaks_is_answered_first():
    driver = Driver()
    driver.speak(1)
    driver(events.Typed("what time is it", driver.now))
    assert told(answered(driver, 2)) == [(Reply, 2)]
    driver(events.EndRequested(driver.state.heard_to, driver.now))
    driver.recognize("one", final=True)
    assert told(answered(driver, 1)) == [(Reply, 1)]


def test_where_nothing_is_replied_transcripts_are_in_order_too():
    driver = Driver(replies=False)
    first, second = spoken(driver), spoken(driver)
    assert told(recognized(driver, second, "two")) == []
    assert told(recognized(driver, first, "one")) == [(Transcript, 1), (Transcript, 2)]
    assert driver.state.phase == "idle"


def test_the_conversation_does_not_finish_before_everything_is_told():
    driver = Driver()
    first, second = spoken(driver), spoken(driver)
    driver(events.HalfClosed(driver.state.heard_to, driver.now))
    recognized(driver, second, "two")
    answered(driver, 2)
    assert driver.of(effects.Finish) == []
    recognized(driver, first, "one")
    fresh = answered(driver, 1)
    assert told(fresh) == [(Reply, 1), (Reply, 2)]
    assert isinstance(fresh[-1], effects.Finish)
