"""Windows of an utterance, and the spans that come of them."""

from __future__ import annotations

import numpy as np
import pytest

from pipelines.data.recognition import Speaker, SpeakerSpan, TimedWord
from pipelines.models.speaker_port import WINDOW_SAMPLES
from pipelines.speakers.clustering import Voices
from pipelines.speakers.enrolled import EnrolledVoices
from pipelines.speakers.spans import main_speaker, only_name, with_speakers, within, without_silence
from pipelines.speakers.utterance import HOP_SAMPLES, MIN_SAMPLES, Utterance

RATE = 16_000
ONE, TWO = Speaker(1), Speaker(2)


def sound(seconds: float, voice: int) -> np.ndarray:
    return np.full(round(seconds * RATE), voice, np.float32)


def embed(utterance: Utterance, *, at_once: bool) -> list[tuple[int, int]]:
    """Embed what is due: each window as the voice that most of it is of."""
    due = utterance.due(at_once=at_once)
    vectors = np.zeros((len(due), 8), np.float32)
    for row, window in zip(vectors, due, strict=True):
        row[round(float(np.median(utterance.samples(window))))] = 1.0
    utterance.take(due, vectors)
    return due


def spans(utterance: Utterance) -> list[tuple[float, float, int]]:
    found = utterance.told(Voices.none_yet(), EnrolledVoices())[1]
    return [(round(s.start / RATE, 1), round(s.end / RATE, 1), s.speaker.tag) for s in found]


def test_two_voices_without_a_pause_are_told_where_they_change():
    utterance = Utterance()
    utterance.add(RATE, np.concatenate((sound(4, 1), sound(4, 2))))
    embed(utterance, at_once=True)
    ((start, change, first), (again, end, second)) = spans(utterance)
    assert (start, end, first, second) == (1.0, 9.0, 1, 2)
    assert change == again == pytest.approx(5.0, abs=0.5)


@pytest.mark.parametrize("chunk_seconds", [0.02, 0.1, 1.0, 7.0])
def test_windows_are_the_same_however_the_audio_comes(chunk_seconds: float):
    whole, chunked = Utterance(), Utterance()
    speech = np.concatenate((sound(3.3, 1), sound(3.3, 2)))
    whole.add(0, speech)
    asked = embed(whole, at_once=True)
    step, came = round(chunk_seconds * RATE), []
    for at in range(0, len(speech), step):
        chunked.add(at, speech[at : at + step])
        came += embed(chunked, at_once=False)
    came += embed(chunked, at_once=True)
    assert came == asked
    assert spans(chunked) == spans(whole)


def test_a_pause_is_embedded_once_and_speech_goes_on_behind_it():
    utterance = Utterance()
    utterance.add(0, sound(2, 1))
    assert embed(utterance, at_once=True) == [(0, WINDOW_SAMPLES), (2 * RATE - WINDOW_SAMPLES, 2 * RATE)]
    assert embed(utterance, at_once=True) == []
    # Silence was not sent: speech goes on later.
    utterance.add(4 * RATE, sound(2, 1))
    embed(utterance, at_once=True)
    assert spans(utterance) == [(0.0, 2.0, 1), (4.0, 6.0, 1)]


def test_audio_that_comes_again_is_left_out():
    utterance = Utterance()
    utterance.add(0, sound(2, 1))
    utterance.add(RATE, sound(2, 1))
    utterance.add(0, sound(1, 1))
    assert utterance.speech_samples == 3 * RATE


def test_of_hardly_any_speech_nothing_is_told():
    utterance = Utterance()
    utterance.add(0, sound(1, 1)[: MIN_SAMPLES - 1])
    assert embed(utterance, at_once=True) == []
    assert spans(utterance) == []


def test_speech_of_ten_minutes_is_not_kept():
    utterance = Utterance()
    for second in range(600):
        utterance.add(second * RATE, sound(1, 1))
        embed(utterance, at_once=False)
    assert len(utterance._samples) <= WINDOW_SAMPLES + HOP_SAMPLES
    assert spans(utterance) == [(0.0, 600.0, 1)]


def test_words_get_the_speaker_of_their_middle():
    told = (SpeakerSpan(0, 100, ONE), SpeakerSpan(100, 300, TWO))
    words = [TimedWord("a", 10, 90), TimedWord("b", 80, 140), TimedWord("c", 400, 500)]
    assert [word.speaker for word in with_speakers(words, told)] == [ONE, TWO, TWO]
    assert with_speakers(words, ()) == tuple(words)


def test_an_utterance_has_a_main_speaker_and_a_name_if_all_of_it_is_of_one():
    ann, bob = Speaker(1, "ann"), Speaker(2, "bob")
    both = (SpeakerSpan(0, 100, ann), SpeakerSpan(100, 150, bob), SpeakerSpan(150, 190, ann))
    assert main_speaker(both) == ann
    assert main_speaker(()) is None
    assert (only_name(both), only_name(both[:1]), only_name(())) == ("", "ann", "")
    assert only_name((SpeakerSpan(0, 9, ann), SpeakerSpan(9, 12, TWO))) == ""
    assert within(both, 50, 120) == (SpeakerSpan(50, 100, ann), SpeakerSpan(100, 120, bob))


@pytest.mark.parametrize(
    ("spoken", "silences", "told"),
    [
        ([(0, 5, ONE)], [], [(0, 5, ONE)]),
        ([(0, 5, ONE)], [(2, 2.1)], [(0, 5, ONE)]),  # between words
        ([(0, 5, ONE)], [(2, 2.3), (4.5, 6)], [(0, 2, ONE), (2.3, 4.5, ONE)]),
        ([(0, 5, ONE)], [(0, 5)], []),
        ([(0, 2, ONE), (2, 5, TWO)], [(2.2, 2.6)], [(0, 2.2, ONE), (2.6, 5, TWO)]),
        ([(0, 2, ONE), (2, 5, TWO)], [(2.3, 2.4)], [(0, 2.35, ONE), (2.35, 5, TWO)]),
        ([(0, 2, ONE), (2, 5, TWO)], [(1.7, 1.75), (2.3, 2.4)], [(0, 2.35, ONE), (2.35, 5, TWO)]),
        ([(0, 2, ONE), (2, 5, TWO)], [(2.6, 3)], [(0, 2, ONE), (2, 2.6, TWO), (3, 5, TWO)]),  # too far
        ([(0, 2, ONE), (2, 2.3, TWO), (2.3, 5, ONE)], [(2.3, 2.4)], [(0, 2, ONE), (2, 2.35, TWO), (2.35, 5, ONE)]),
        ([(0, 2, ONE), (3, 5, TWO)], [(1.9, 3.1)], [(0, 1.9, ONE), (3.1, 5, TWO)]),
    ],
)
def test_silence_is_nobodys_and_changes_lie_in_it(spoken: list, silences: list, told: list):
    spans = [SpeakerSpan(round(RATE * start), round(RATE * end), speaker) for start, end, speaker in spoken]
    runs = [(round(RATE * begin), round(RATE * end)) for begin, end in silences]
    assert without_silence(spans, runs) == tuple(
        SpeakerSpan(round(RATE * start), round(RATE * end), speaker) for start, end, speaker in told
    )
