"""The pure machine: what a conversation does about everything that can happen to it."""

import dataclasses
import itertools

import pytest

from pipelines.answering import Answer, AnswerSearch
from pipelines.endpointing import EndpointingConfig
from pipelines.messages import EndReason, Notice, NoticeCode, Reply, SpeechBegan, SpeechEnded, Stage, Status, Transcript
from pipelines.ports import Hypothesis, TimedWord, Timing
from pipelines.turns import effects, events, listening
from pipelines.turns.machine import step
from pipelines.turns.state import State, TurnSettings
from pipelines.understanding import Understanding
from pipelines.voice_activity import WINDOW_SAMPLES

COST = Timing(0.01, 0.05)
CACHED = Timing(0.003, 0.0)
UNDERSTANDING = Understanding("lights_on", 0.9, (), COST)
FOUND = AnswerSearch(Answer("Paris", 0.9, 0, 5, ""), COST)


class Driver:
    """Feeds events to the machine and remembers what it wants done."""

    def __init__(self, **settings: object) -> None:
        chosen = {"has_documents": True, "interim_results": True} | settings
        self.state = State.initial(TurnSettings(**chosen))
        self.done: list[effects.Effect] = []
        self.now = 0.0

    def __call__(self, *happened: events.Event) -> list[effects.Effect]:
        fresh: list[effects.Effect] = []
        for event in happened:
            self.state, todo = step(self.state, event)
            fresh += todo
        self.done += fresh
        return fresh

    def hear(self, seconds: float, probability: float) -> list[effects.Effect]:
        fresh = []
        for _ in range(round(seconds / 0.032)):
            self.now += 0.032
            fresh += self(events.Heard(probability, self.now))
        return fresh

    def speak(self, seconds: float) -> list[effects.Effect]:
        return self.hear(seconds, 0.9)

    def pause(self, seconds: float) -> list[effects.Effect]:
        return self.hear(seconds, 0.01)

    def recognize(
        self, text: str, *, final: bool = False, settled: bool = False, timing: Timing = COST
    ) -> list[effects.Effect]:
        """The recognizer answers for the newest segment, for all that it was sent."""
        sent = self.sent(self.segment)
        hypothesis = Hypothesis(text, sent[-1].stop - sent[0].start, final, timing, is_settled=settled)
        return self(events.Transcribed(self.segment, hypothesis))

    def understand(self) -> list[effects.Effect]:
        """Both stages finish for the newest guess."""
        wanted = self.of(effects.Understand)[-1]
        finished = (events.StageFinished(wanted.turn, wanted.guess, result) for result in (UNDERSTANDING, FOUND))
        return self(*finished)

    def of(self, kind: type) -> list:
        return [effect for effect in self.done if isinstance(effect, kind)]

    def said(self, kind: type) -> list:
        return [effect.message for effect in self.of(effects.Emit) if isinstance(effect.message, kind)]

    def sent(self, segment: int) -> list[effects.SendAudio]:
        return [effect for effect in self.of(effects.SendAudio) if effect.segment == segment]

    @property
    def segment(self) -> int:
        return self.of(effects.OpenSegment)[-1].segment


def emitted(fresh: list[effects.Effect], kind: type) -> list:
    return [effect.message for effect in fresh if isinstance(effect, effects.Emit) and isinstance(effect.message, kind)]


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
    assert emitted(ended, SpeechEnded) == [SpeechEnded(1, 62 * WINDOW_SAMPLES, EndReason.SILENCE)]
    fresh = driver.recognize("turn on the lights", final=True, timing=CACHED)
    assert [message.is_final for message in emitted(fresh, Transcript)] == [True]
    (reply,) = emitted(fresh, Reply)
    assert reply.status is Status.COMPLETE
    assert reply.transcript == "turn on the lights"
    assert reply.speculated
    assert reply.answer == FOUND.answer
    assert reply.timings == {Stage.ASR: COST, Stage.NLU: COST, Stage.QA: COST}
    assert driver.state.phase == "idle"


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


def test_audio_from_before_the_onset_is_sent():
    driver = Driver()
    driver.pause(2)
    driver.speak(0.5)
    began = driver.said(SpeechBegan)[0]
    first = driver.sent(driver.segment)[0]
    assert first.start == began.start - listening.PREROLL


def test_the_audio_of_a_segment_has_no_gap_and_no_overlap():
    driver = Driver()
    driver.pause(1)
    for _ in range(4):
        driver.speak(0.7)
        driver.pause(0.4)
    sent = driver.sent(driver.segment)
    assert all(before.stop == after.start for before, after in itertools.pairwise(sent))


def test_silence_after_the_speculation_point_is_not_sent():
    driver = Driver(endpointing=EndpointingConfig(stop_window_seconds=5))
    driver.speak(1)
    driver.pause(0.3)
    sent_to = driver.sent(driver.segment)[-1].stop
    driver.pause(1)
    assert driver.sent(driver.segment)[-1].stop == sent_to
    assert driver.sent(driver.segment)[-1].decode


def test_a_guess_is_dropped_when_speech_resumes():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize("turn on")
    guess = driver.of(effects.Understand)[-1]
    driver.speak(0.5)
    driver(events.StageFinished(1, guess.guess, UNDERSTANDING))
    driver.pause(0.3)
    driver.recognize("turn on the lights")
    driver.understand()
    driver.pause(0.5)
    driver.recognize("turn on the lights", final=True, timing=CACHED)
    (reply,) = driver.said(Reply)
    assert reply.transcript == "turn on the lights"
    assert reply.speculated


def test_a_wrong_guess_is_made_good_after_the_end():
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
    ("guess", "resumes", "fate"),
    [
        ("turn on the lights", False, effects.GuessFate.HIT),
        ("turn on the light", False, effects.GuessFate.DIFFERED),
        ("turn on", True, effects.GuessFate.RESUMED),
    ],
)
def test_what_becomes_of_a_guess_is_counted(guess: str, resumes: bool, fate: effects.GuessFate):
    driver = Driver()
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize(guess)
    if resumes:
        driver.speak(1)
    driver.pause(0.7)
    driver.recognize("turn on the lights", final=True)
    assert [effect.fate for effect in driver.of(effects.CountGuess)] == [effects.GuessFate.MADE, fate]


def test_where_nothing_is_replied_no_guess_is_counted():
    driver = Driver(replies=False)
    driver.speak(1)
    driver.pause(0.3)
    driver.recognize("turn on")
    driver.speak(1)
    driver.pause(0.7)
    driver.recognize("turn on the lights", final=True)
    assert driver.of(effects.CountGuess) == []


def test_without_speculation_nothing_is_understood_before_the_end():
    driver = Driver(speculates=False)
    driver.speak(1)
    driver.pause(0.4)
    assert not any(sent.decode for sent in driver.of(effects.SendAudio))
    driver.recognize("turn on")
    assert driver.of(effects.Understand) == []


@pytest.mark.parametrize(
    ("ready", "overran"),
    [((), (Stage.NLU, Stage.QA)), ((UNDERSTANDING,), (Stage.QA,)), ((FOUND,), (Stage.NLU,))],
)
def test_what_is_not_ready_at_the_deadline_is_left_out(ready: tuple, overran: tuple[Stage, ...]):
    driver = Driver()
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    driver.recognize("what is the capital", final=True)
    guess = driver.of(effects.Understand)[-1].guess
    driver(*(events.StageFinished(1, guess, result) for result in ready))
    assert driver.of(effects.SetDeadline) == [effects.SetDeadline(1, 5.3)]
    driver(events.DeadlinePassed(1))
    (reply,) = driver.said(Reply)
    assert (reply.status, reply.overran) == (Status.PARTIAL, overran)
    assert reply.transcript == "what is the capital"
    driver.understand()
    assert len(driver.said(Reply)) == 1


def test_recognition_that_overruns_replies_with_the_partial_text_and_still_finishes_the_transcript():
    driver = Driver()
    driver.speak(1)
    driver.recognize("what is")
    driver(events.EndRequested(driver.state.heard_to, 5.0), events.DeadlinePassed(1))
    (reply,) = driver.said(Reply)
    assert reply.status is Status.PARTIAL
    assert reply.overran[0] is Stage.ASR
    assert reply.transcript == "what is"
    fresh = driver.recognize("what is the capital", final=True)
    assert emitted(fresh, Transcript)[0].text == "what is the capital"
    assert driver.state.phase == "idle"
    assert len(driver.of(effects.Understand)) == 0


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


def test_push_to_talk_goes_on_through_silence_and_holds_no_place_in_it():
    driver = Driver(endpointing=EndpointingConfig(enabled=False))
    driver.speak(1)
    first = driver.segment
    driver.pause(10)
    assert driver.of(effects.CloseSegment) == [effects.CloseSegment(first)]
    driver(events.Transcribed(first, Hypothesis("turn on", 20_000, True, COST)))
    driver.speak(1)
    assert driver.segment != first
    assert driver.said(SpeechEnded) == []
    driver(events.EndRequested(driver.state.heard_to, 20.0))
    driver.recognize("the lights", final=True)
    driver.understand()
    assert driver.said(Reply)[0].transcript == "turn on the lights"


def test_a_speaker_whose_audio_stops_coming_gives_the_place_back():
    driver = Driver()
    driver.speak(1)
    first = driver.segment
    assert driver(events.Stalled()) == [effects.CloseSegment(first)]
    driver(events.Transcribed(first, Hypothesis("turn on", 16_000, True, COST)))
    driver.speak(1)
    assert driver.segment != first
    driver.pause(1)
    driver.recognize("the lights", final=True)
    assert driver.said(Transcript)[-1].text == "turn on the lights"


def test_long_speech_is_cut_at_a_pause():
    driver = Driver()
    driver.speak(13)
    first = driver.segment
    driver.pause(0.4)
    assert driver.of(effects.CloseSegment) == [effects.CloseSegment(first)]
    driver.speak(1)
    assert driver.segment != first
    assert driver.sent(driver.segment)[0].start >= driver.sent(first)[-1].stop
    assert driver.said(SpeechEnded) == []


def test_speech_without_a_pause_is_cut_where_it_is_quietest_and_nothing_is_dropped():
    driver = Driver()
    driver.speak(20)
    quiet_at = driver.state.heard_to
    driver.hear(0.064, 0.55)
    driver.speak(9)
    old, head, tail = (effect.segment for effect in driver.of(effects.OpenSegment))
    assert driver.of(effects.AbandonSegment) == [effects.AbandonSegment(old)]
    assert effects.CloseSegment(head) in driver.done
    (whole_head,) = driver.sent(head)
    assert whole_head.start == driver.sent(old)[0].start
    assert quiet_at <= whole_head.stop <= quiet_at + 2 * WINDOW_SAMPLES
    assert driver.sent(tail)[0].start == whole_head.stop
    driver(events.Transcribed(head, Hypothesis("first half", 1, True, COST)))
    driver(events.EndRequested(driver.state.heard_to, 40.0))
    driver.recognize("second half", final=True)
    assert driver.said(Transcript)[-1].text == "first half second half"


@pytest.mark.parametrize("seconds", [29, 61, 95])
def test_no_segment_is_longer_than_the_recognizer_takes(seconds: float):
    driver = Driver()
    driver.speak(seconds)
    spans = {}
    for sent in driver.of(effects.SendAudio):
        spans.setdefault(sent.segment, []).append(sent)
    assert max(sent[-1].stop - sent[0].start for sent in spans.values()) <= 30 * 16_000


def test_a_recognizer_that_fails_keeps_what_was_recognized():
    driver = Driver()
    driver.speak(1)
    driver.recognize("turn on")
    fresh = driver(events.RecognitionFailed(driver.segment, "out of order"))
    assert emitted(fresh, Notice)[0].code is NoticeCode.STAGE_FAILED
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    driver.understand()
    (reply,) = driver.said(Reply)
    assert (reply.status, reply.transcript) == (Status.DEGRADED, "turn on")


def test_a_stage_that_fails_does_not_hold_the_other_up():
    driver = Driver()
    driver.speak(1)
    driver(events.EndRequested(driver.state.heard_to, 5.0))
    driver.recognize("turn on the lights", final=True)
    guess = driver.of(effects.Understand)[-1].guess
    fresh = driver(
        events.StageFailed(1, guess, Stage.NLU, "out of order"),
        events.StageFinished(1, guess, FOUND),
    )
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
    assert driver.of(effects.Understand) == []


def test_a_typed_turn_while_somebody_speaks():
    driver = Driver()
    driver.speak(1)
    fresh = driver(events.Typed("what time is it", 1.5))
    assert fresh[0] == effects.Understand(2, 1, "what time is it")
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


def test_a_caller_who_is_gone_leaves_no_sequence_open():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.7)
    driver.speak(1)
    fresh = driver(events.Abandoned())
    assert fresh == [effects.AbandonSegment(1), effects.AbandonSegment(2)]
    assert driver(events.Abandoned()) == []


def test_without_interim_results_only_the_final_transcript_is_sent():
    driver = Driver(interim_results=False)
    driver.speak(1)
    driver.recognize("turn")
    driver.pause(1)
    driver.recognize("turn on", final=True)
    assert [transcript.is_final for transcript in driver.said(Transcript)] == [True]


def test_late_answers_for_abandoned_segments_are_ignored():
    driver = Driver()
    driver.speak(1)
    before = driver.state
    assert driver(events.Transcribed(99, Hypothesis("ghost", 1, True, COST))) == []
    assert driver(events.RecognitionFailed(99, "ghost")) == []
    assert driver.state == before


def test_a_state_is_never_changed_in_place():
    driver = Driver()
    driver.speak(1)
    kept = driver.state
    copy = dataclasses.replace(kept)
    driver.pause(2)
    assert kept == copy


TWO_PASSES = EndpointingConfig(stop_window_seconds=1.6, likely_stop_window_seconds=0.256)


def told(done: list[effects.Effect]) -> list[Transcript]:
    messages = [effect.message for effect in done if isinstance(effect, effects.Emit)]
    return [message for message in messages if isinstance(message, Transcript)]


def test_a_likely_end_is_told_once_all_that_was_said_is_recognized():
    talk = Driver(endpointing=TWO_PASSES)
    talk.speak(1.0)
    assert not told(talk.pause(0.32))
    (transcript,) = (each for each in told(talk.recognize("turn on the light")) if each.end_is_likely)
    assert (transcript.text, transcript.is_final) == ("turn on the light", False)
    assert not told(talk.pause(0.32))


def test_a_likely_end_is_told_at_once_if_all_is_recognized_already():
    talk = Driver(endpointing=TWO_PASSES)
    talk.speak(1.0)
    talk.pause(0.224)
    talk.recognize("turn on the light")
    (transcript,) = told(talk.pause(0.064))
    assert transcript.end_is_likely


def test_the_times_of_words_count_from_the_start_of_the_conversation():
    talk = Driver()
    talk.pause(3.2)
    talk.speak(1.0)
    sent = talk.sent(talk.segment)[0].start
    heard = (TimedWord("turn", 1_000, 3_000), TimedWord("on", 3_000, 4_000))
    (partial,) = told(talk(events.Transcribed(talk.segment, Hypothesis("turn on", 6_400, False, COST, words=heard))))
    assert sent > 40_000
    assert [(word.text, word.start, word.end) for word in partial.words] == [
        ("turn", sent + 1_000, sent + 3_000),
        ("on", sent + 3_000, sent + 4_000),
    ]


def test_a_likely_end_that_speech_belies_is_not_told():
    talk = Driver(endpointing=TWO_PASSES)
    talk.speak(1.0)
    talk.pause(0.32)
    talk.speak(0.32)
    assert not [each for each in told(talk.recognize("turn on the light")) if each.end_is_likely]


def test_without_interim_results_a_likely_end_is_not_told():
    talk = Driver(endpointing=TWO_PASSES, interim_results=False)
    talk.speak(1.0)
    talk.pause(0.32)
    assert not told(talk.recognize("turn on the light"))


def test_without_replies_an_utterance_is_recognized_and_forgotten():
    talk = Driver(replies=False)
    talk.speak(1.0)
    talk.pause(0.64)
    talk.recognize("turn on the light", final=True)
    kinds = {type(effect) for effect in talk.done}
    assert not kinds & {effects.Understand, effects.SetDeadline}
    emitted = [effect.message for effect in talk.done if isinstance(effect, effects.Emit)]
    assert [type(message) for message in emitted] == [SpeechBegan, SpeechEnded, Transcript]
    assert talk.state.phase == "idle"
    talk(events.HalfClosed(talk.state.heard_to, talk.now))
    assert talk.state.finished
