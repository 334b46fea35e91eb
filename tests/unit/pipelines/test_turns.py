"""The pure machine: what a conversation does about everything that can happen to it."""

import pytest
from msgspec.structs import replace

from pipelines.data.messages import EndReason, Notice, NoticeCode, Reply, SpeechBegan, SpeechEnded, Status, Transcript
from pipelines.data.recognition import Hypothesis
from pipelines.data.stages import ASR, NLU, QA, PlannedStage
from pipelines.turns import effects, events, listening
from pipelines.vad.voice_activity import WINDOW_SAMPLES
from tests.unit.pipelines.driver import BOTH, CACHED, COST, FOUND, NLU_ALONE, UNDERSTANDING, Driver, emitted, finished


def test_silence_for_an_hour_does_nothing():
    driver = Driver()
    assert driver.pause(3600) == []
    assert driver.state.phase == "idle"
    assert listening.keep_from(driver.state) > driver.state.heard_to - 16_000


def test_a_spoken_turn_from_first_word_to_reply():
    driver = Driver()
    driver.pause(1)
    driver.speak(1)
    assert driver.state.phase == "listening"
    driver.pause(0.2)
    assert driver.state.phase == "pausing"
    driver.recognize("turn on the lights")
    driver.understand()
    ended = driver.pause(0.5)
    assert driver.state.phase == "finalizing"
    assert emitted(ended, SpeechEnded) == [
        SpeechEnded(1, 62 * WINDOW_SAMPLES, EndReason.SILENCE, silence=19 * WINDOW_SAMPLES)
    ]
    fresh = driver.recognize("turn on the lights", final=True, timing=CACHED)
    assert [message.is_final for message in emitted(fresh, Transcript)] == [True]
    (reply,) = emitted(fresh, Reply)
    assert reply.status is Status.COMPLETE
    assert reply.transcript == "turn on the lights"
    assert reply.speculated
    assert reply.answer == FOUND.answer
    assert reply.timings == {ASR: COST, NLU: COST, QA: COST}
    assert driver.state.phase == "idle"


@pytest.mark.parametrize(
    ("ready", "overran"),
    [({}, (NLU, QA)), ({NLU: UNDERSTANDING}, (QA,)), ({QA: FOUND}, (NLU,))],
)
def test_what_is_not_ready_at_the_deadline_is_left_out(ready: dict, overran: tuple[str, ...]):
    driver = Driver()
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    driver.recognize("what is the capital", final=True)
    for stage, output in ready.items():
        driver(*finished(driver.of(effects.RunStage)[-1], stage, output))
    assert driver.of(effects.SetDeadline) == [effects.SetDeadline(1, 5.3)]
    driver(events.DeadlinePassed(1))
    (reply,) = driver.said(Reply)
    assert (reply.status, reply.overran) == (Status.PARTIAL, overran)
    assert reply.transcript == "what is the capital"
    assert driver.of(effects.CancelStage) == []
    driver.understand()
    _, whole = driver.said(Reply)
    assert (whole.status, whole.completes, whole.overran, whole.turn) == (Status.COMPLETE, True, overran, 1)
    assert whole.results.keys() == {NLU, QA}
    assert driver.state.phase == "idle"


def test_recognition_that_overruns_replies_with_the_partial_text_and_then_with_the_whole():
    driver = Driver()
    driver.speak(1)
    driver.recognize("what is")
    driver(events.EndRequested(driver.state.heard_to, 5.0), events.DeadlinePassed(1))
    (reply,) = driver.said(Reply)
    assert reply.status is Status.PARTIAL
    assert reply.overran[0] == ASR
    assert reply.transcript == "what is"
    fresh = driver.recognize("what is the capital", final=True)
    assert emitted(fresh, Transcript)[0].text == "what is the capital"
    fresh = driver.understand()
    (whole,) = emitted(fresh, Reply)
    assert (whole.transcript, whole.completes) == ("what is the capital", True)
    assert (whole.status, whole.overran[0]) == (Status.COMPLETE, ASR)
    assert driver.state.phase == "idle"


@pytest.mark.parametrize(("stages", "overran"), [(BOTH, (ASR, NLU, QA)), (NLU_ALONE, (ASR, NLU))])
def test_no_answer_overruns_where_nothing_was_to_be_searched(
    stages: tuple[PlannedStage, ...], overran: tuple[str, ...]
):
    driver = Driver(stages=stages)
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 5.0), events.DeadlinePassed(1))
    (reply,) = driver.said(Reply)
    assert reply.overran == overran


def test_half_close_ends_the_utterance_and_then_the_conversation():
    driver = Driver()
    driver.speak(1)
    audio_end = driver.state.heard_to + 100
    fresh = driver(events.HalfClosed(audio_end, 5.0))
    assert driver.sent(driver.segment)[-1].stop == audio_end
    assert emitted(fresh, SpeechEnded)[0].reason is EndReason.HALF_CLOSE
    assert driver.of(effects.Finish) == []
    driver.recognize("hello", final=True)
    fresh = driver.understand()
    assert fresh[-1] == effects.Finish()
    assert driver.state.phase == "finished"
    assert driver.speak(1) == []


def test_half_close_before_any_audio_finishes_at_once():
    assert Driver()(events.HalfClosed(0, 0.0)) == [effects.Finish()]


def test_an_end_without_speech_is_told():
    driver = Driver()
    driver.pause(1)
    (notice,) = emitted(driver(events.EndRequested(driver.state.heard_to, 1.0)), Notice)
    assert notice.code is NoticeCode.NO_SPEECH
    assert driver.state.phase == "idle"


def test_a_word_too_short_to_begin_an_utterance_counts_when_the_caller_ends_it():
    driver = Driver()
    driver.pause(1)
    driver.speak(0.064)
    assert driver.said(SpeechBegan) == []
    driver(events.EndRequested(driver.state.heard_to, 1.0))
    assert len(driver.said(SpeechBegan)) == 1
    driver.recognize("yes", final=True)
    driver.understand()
    assert driver.said(Reply)[0].transcript == "yes"


def test_a_recognizer_that_fails_keeps_what_was_recognized():
    driver = Driver()
    driver.speak(1)
    driver.recognize("turn on")
    fresh = driver(events.RecognitionFailed(driver.segment, "out of order"))
    (notice,) = emitted(fresh, Notice)
    assert notice.code is NoticeCode.STAGE_FAILED
    assert notice.message.startswith("asr failed: out of order. Words are missing")
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    (reply,) = driver.said(Reply)
    assert (reply.status, reply.transcript) == (Status.DEGRADED, "turn on")


def test_a_stage_that_fails_does_not_hold_the_other_up():
    driver = Driver()
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    driver.recognize("turn on the lights", final=True)
    run = driver.of(effects.RunStage)[-1]
    fresh = driver(events.StageFailed(1, run.speculation, NLU, "out of order"), *finished(run, QA, FOUND))
    assert emitted(fresh, Notice)[0].turn == 1
    (reply,) = emitted(fresh, Reply)
    assert (reply.status, reply.understanding, reply.answer) == (Status.DEGRADED, None, FOUND.answer)


def test_speech_that_is_no_words_gets_an_empty_reply():
    driver = Driver()
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    driver.recognize("", final=True)
    (reply,) = driver.said(Reply)
    assert (reply.transcript, reply.status) == ("", Status.COMPLETE)
    assert reply.understanding.intent == "none"
    assert driver.of(effects.RunStage) == []


def test_a_typed_turn_while_somebody_speaks():
    driver = Driver()
    driver.speak(1)
    fresh = driver(events.Typed("what time is it", 1.5))
    assert fresh[0] == effects.RunStage(2, 1, NLU, "what time is it")
    driver.understand()
    (reply,) = driver.said(Reply)
    assert (reply.turn, reply.transcript) == (2, "what time is it")
    assert driver.state.phase == "listening"


def test_the_next_utterance_may_begin_before_the_reply_to_the_last():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.7)
    first = driver.segment
    driver.speak(0.5)
    assert driver.segment != first
    assert driver.sent(driver.segment)[0].start >= driver.sent(first)[-1].stop
    driver(events.Transcribed(first, Hypothesis("one", 1, True, COST)))
    driver.understand()
    assert driver.said(Reply)[0].turn == 1
    assert driver.state.phase == "listening"


def test_without_interim_results_only_the_final_transcript_is_sent():
    driver = Driver(interim_results=False)
    driver.speak(1)
    driver.recognize("turn")
    driver.pause(1)
    driver.recognize("turn on", final=True)
    assert [transcript.is_final for transcript in driver.said(Transcript)] == [True]


def test_a_state_is_never_changed_in_place():
    driver = Driver()
    driver.speak(1)
    kept = driver.state
    copy = replace(kept)
    driver.pause(2)
    assert kept == copy


def test_without_replies_an_utterance_is_recognized_and_forgotten():
    talk = Driver(replies=False)
    talk.speak(1.0)
    talk.pause(0.64)
    talk.recognize("turn on the light", final=True)
    kinds = {type(effect) for effect in talk.done}
    assert not kinds & {effects.RunStage, effects.SetDeadline}
    emitted = [effect.message for effect in talk.done if isinstance(effect, effects.Emit)]
    assert [type(message) for message in emitted] == [SpeechBegan, SpeechEnded, Transcript]
    assert talk.state.phase == "idle"
    talk(events.HalfClosed(talk.state.heard_to, talk.now))
    assert talk.state.finished
