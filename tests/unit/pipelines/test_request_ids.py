"""Which request a message answers: the caller's name for it comes back."""

from pipelines.data.messages import Notice, NoticeCode, Reply, SpeechEnded, Transcript
from pipelines.data.stages import NLU, QA
from pipelines.turns import effects, events
from tests.unit.pipelines.driver import Driver, emitted


def test_what_an_end_of_utterance_brings_about_carries_its_name():
    driver = Driver()
    driver.speak(1)
    driver.recognize("turn on")
    ended = driver(events.EndRequested(driver.state.heard_to, 5.0, "end-1"))
    driver.recognize("turn on the lights", final=True)
    driver.understand()

    assert [message.request_id for message in emitted(ended, SpeechEnded)] == ["end-1"]
    assert [(it.is_final, it.request_id) for it in driver.said(Transcript)] == [(False, ""), (True, "end-1")]
    assert [message.request_id for message in driver.said(Reply)] == ["end-1"]


def test_an_utterance_that_silence_ends_answers_no_request():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.7)
    driver.recognize("turn on the lights", final=True)
    driver.understand()

    assert {message.request_id for kind in (SpeechEnded, Transcript, Reply) for message in driver.said(kind)} == {""}


def test_an_end_without_speech_is_told_by_its_name():
    driver = Driver()
    driver.pause(1)
    (notice,) = emitted(driver(events.EndRequested(driver.state.heard_to, 1.0, "end-1")), Notice)

    assert (notice.code, notice.request_id) == (NoticeCode.NO_SPEECH, "end-1")


def test_typed_turns_are_answered_by_their_names():
    driver = Driver()
    driver.speak(1)
    driver(events.Typed("what time is it", 1.5, "a"), events.Typed("and where", 1.5, "b"))
    driver.understand()
    wanted = driver.of(effects.RunStage)[0]
    driver(
        *(events.StageFailed(wanted.turn, wanted.speculation, stage, "out of order") for stage in (NLU, QA)),
    )

    assert [(reply.turn, reply.request_id) for reply in driver.said(Reply)] == [(2, "a"), (3, "b")]
    assert [(notice.turn, notice.request_id) for notice in driver.said(Notice)] == [(2, "a")] * 2
