from __future__ import annotations

import pytest

from benchmarks.speech_out.report import Spoken, summary, words
from benchmarks.speech_out.sentences import TEMPLATES, sentences


def test_sentences_are_the_same_for_the_same_seed():
    assert sentences(60, 1) == sentences(60, 1) != sentences(60, 2)
    assert len(set(sentences(200, 1))) > 150
    assert len(sentences(len(TEMPLATES), 1)) == len(TEMPLATES)


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("It costs $12.50.", "it costs twelve dollars and fifty cents"),
        ("At 4:30pm, please.", "At 4.30 p.m. please"),
        ("Dr. Smith", "Doctor Smith."),
        ("72%", "seventy-two percent"),
        ("in 1998", "In nineteen ninety eight."),
    ],
)
def test_figures_and_words_are_the_same(written: str, heard: str):
    assert words(written) == words(heard)


def test_other_words_are_errors():
    found = summary(
        [
            Spoken("one two three four", "one two three for", 0.02, 0.01, 1.0),
            Spoken("five six", "five six", 0.03, 0.02, 1.0),
        ]
    )
    assert found["word_error_rate"] == round(1 / 6, 4)
    assert found["wrong"] == [{"spoken": "one two three four", "heard": "one two three for"}]
    assert found["first_audio_ms"] == {"p50": 25.0, "p95": 30.0}
    assert found["cpu_seconds_a_second_of_speech"] == 0.015
