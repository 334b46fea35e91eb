from __future__ import annotations

import pytest

from engines.turn.spoken_words import MAX_WORDS, spoken_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Can I have a latte?", ["can", "i", "have", "a", "latte"]),
        ("It\N{RIGHT SINGLE QUOTATION MARK}s 7:30 p.m.", ["it's", "7:30", "p.m"]),
        ("a twelve-ounce coffee, please...", ["a", "twelve-ounce", "coffee", "please"]),
        ("20% of 1,000", ["20%", "of", "1,000"]),
        ("", []),
        ("?! \N{GRINNING FACE} \N{LATIN SMALL LETTER E WITH ACUTE}t\N{LATIN SMALL LETTER E WITH ACUTE}", ["été"]),
    ],
)
def test_words_are_lower_case_without_punctuation(text: str, words: list[str]):
    assert spoken_words(text) == words


def test_the_last_words_count():
    text = " ".join(f"w{number}" for number in range(100))
    assert spoken_words(text) == [f"w{number}" for number in range(100 - MAX_WORDS, 100)]
