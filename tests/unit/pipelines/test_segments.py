"""The pure machine: what of the audio goes to the recognizer, and in which pieces."""

import itertools

import pytest

from pipelines.data.messages import Reply, SpeechBegan, SpeechEnded, Transcript
from pipelines.data.recognition import Hypothesis, TimedWord
from pipelines.turns import effects, events, listening
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.voice_activity import WINDOW_SAMPLES
from tests.unit.pipelines.driver import COST, Driver, emitted


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


@pytest.mark.parametrize("seconds", [29, 61, 95, 1_800])
def test_no_segment_is_longer_than_the_recognizer_takes(seconds: float):
    driver = Driver()
    driver.speak(seconds)
    spans = {}
    for sent in driver.of(effects.SendAudio):
        spans.setdefault(sent.segment, []).append(sent)
    assert max(sent[-1].stop - sent[0].start for sent in spans.values()) <= 30 * 16_000
    assert driver.state.heard_to - listening.keep_from(driver.state) <= 30 * 16_000
    abandoned = {effect.segment for effect in driver.of(effects.AbandonSegment)}
    kept = sorted((sent[0].start, sent[-1].stop) for segment, sent in spans.items() if segment not in abandoned)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(kept))
    assert kept[-1][1] == driver.state.heard_to


def test_a_caller_who_is_gone_leaves_no_sequence_open():
    driver = Driver()
    driver.speak(1)
    driver.pause(0.7)
    driver.speak(1)
    fresh = driver(events.Abandoned())
    assert fresh == [effects.AbandonSegment(1), effects.AbandonSegment(2)]
    assert driver(events.Abandoned()) == []


def test_late_answers_for_abandoned_segments_are_ignored():
    driver = Driver()
    driver.speak(1)
    before = driver.state
    assert driver(events.Transcribed(99, Hypothesis("ghost", 1, True, COST))) == []
    assert driver(events.RecognitionFailed(99, "ghost")) == []
    assert driver.state == before


def test_the_times_of_words_count_from_the_start_of_the_conversation():
    talk = Driver()
    talk.pause(3.2)
    talk.speak(1.0)
    sent = talk.sent(talk.segment)[0].start
    heard = (TimedWord("turn", 1_000, 3_000), TimedWord("on", 3_000, 4_000))
    hypothesis = Hypothesis("turn on", 6_400, False, COST, words=heard)
    (partial,) = emitted(talk(events.Transcribed(talk.segment, hypothesis)), Transcript)
    assert sent > 40_000
    assert [(word.text, word.start, word.end) for word in partial.words] == [
        ("turn", sent + 1_000, sent + 3_000),
        ("on", sent + 3_000, sent + 4_000),
    ]


def test_an_utterance_that_may_go_on_over_pauses_ends_with_a_long_one():
    driver = Driver(join_samples=listening.SOFT_LIMIT)
    for _ in range(3):
        driver.speak(1)
        driver.pause(1)
    assert driver.said(SpeechEnded) == []
    assert len(driver.of(effects.OpenSegment)) == 1
    driver.pause(2)
    assert len(driver.said(SpeechEnded)) == 1


def test_an_utterance_that_may_go_on_over_pauses_ends_once_its_segment_is_long():
    driver = Driver(join_samples=listening.SOFT_LIMIT)
    driver.speak(listening.SOFT_LIMIT / 16_000 + 0.1)
    driver.pause(0.3)
    assert driver.said(SpeechEnded) == []
    driver.pause(0.4)
    assert len(driver.said(SpeechEnded)) == 1
