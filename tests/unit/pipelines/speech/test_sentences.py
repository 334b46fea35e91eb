from __future__ import annotations

import itertools
import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import InvalidInputError
from pipelines.speech.lexicon import MAX_ENTRIES, Lexicon, LexiconEntry
from pipelines.speech.script import (
    MAX_SSML_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    check_speed,
    sentences_of_ssml,
    sentences_of_text,
)
from pipelines.speech.sentences import PARAGRAPH_PAUSE_SECONDS, SENTENCE_PAUSE_SECONDS

if TYPE_CHECKING:
    from pipelines.speech.sentences import Sentence

NO_LEXICON = Lexicon()


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences_of_text(text, NO_LEXICON)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four…", ["One.", "Two!", "Three?", "Four…"]),
        ("Dr. Smith came at 5 p.m. He left.", ["Dr. Smith came at 5 p.m.", "He left."]),
        ("J. K. Rowling, e.g. this. No. 5 is 3.5.", ["J. K. Rowling, e.g. this.", "No. 5 is 3.5."]),
        ('"Really?" he said. (Yes.) So.', ['"Really?"', "he said.", "(Yes.)", "So."]),
        ("Hours\n- Monday\n- Tuesday\n\nEnd", ["Hours", "Monday", "Tuesday", "End"]),
        ("# Title\n**Bold**, `code`, [link](http://x.y).", ["Title", "Bold, code, link."]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["a b", "1 2"]),
        ("🙂 Hi 👋🏽 there ❤️!", ["Hi there !"]),
        ("Москва, café", ["Moskva, cafe"]),
    ],
)
def test_sentences_are_told_apart(text: str, sentences: list[str]):
    assert texts(text) == sentences


def test_pauses_are_between_sentences_alone():
    pauses = [one.pause_seconds for one in sentences_of_text("One. Two.\n\nThree.", NO_LEXICON)]
    assert pauses == [SENTENCE_PAUSE_SECONDS, PARAGRAPH_PAUSE_SECONDS, 0.0]


def test_a_long_first_sentence_begins_with_its_first_clause():
    text = (
        "The ferry leaves at eight in the morning, and at two in the afternoon it comes back again, "
        "but only in the summer, when the harbour is open for everybody who wants to go there."
    )
    first, second = sentences_of_text(text, NO_LEXICON)
    assert first.text == "The ferry leaves at eight in the morning,"
    assert 0 < first.pause_seconds < SENTENCE_PAUSE_SECONDS
    assert len(second.text) > 100


def test_very_long_sentences_are_cut():
    for text in ("word " * 400, "x" * 2_000, "a, " * 700):
        assert max(len(sentence.text) for sentence in sentences_of_text(text, NO_LEXICON)) <= 240


@pytest.mark.parametrize("filler", [". ", " ", "\n", "*", "[", "|", "_a", "- ", "! ? ", "`", "\"'"])
def test_nothing_takes_long_to_read(filler: str):
    text = ("a" + filler * 10_000)[:9_999] + "a"
    began = time.process_time()
    list(sentences_of_text(text, NO_LEXICON))
    assert time.process_time() - began < 0.25


def test_sentences_are_read_when_they_are_asked_for():
    began = time.process_time()
    next(sentences_of_text("Call 555-1234 at 9:30. " * 430, NO_LEXICON))
    first = time.process_time() - began
    began = time.process_time()
    list(sentences_of_text("Call 555-1234 at 9:30. " * 430, NO_LEXICON))
    assert first < (time.process_time() - began) / 2


def test_a_lexicon_tells_how_words_are_spoken():
    lexicon = Lexicon([LexiconEntry("Vivavoce", "viːvəˈvoʊtʃeɪ"), LexiconEntry("new york", alias="the city")])
    (sentence,) = sentences_of_text("VIVAVOCE in New  York, not vivavoces.", lexicon)
    assert [(part.text, part.phonemes) for part in sentence.parts] == [
        ("VIVAVOCE", "viːvəˈvoʊtʃeɪ"),
        ("in", ""),
        ("the city", ""),
        (", not vivavoces.", ""),
    ]
    assert sentence.text == "VIVAVOCE in the city, not vivavoces."


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([LexiconEntry("", "x")], "BAD_LEXICON_WORD"),
        ([LexiconEntry("x" * 101, "x")], "BAD_LEXICON_WORD"),
        ([LexiconEntry("x")], "BAD_LEXICON_WORD"),
        ([LexiconEntry("x", "x", "y")], "BAD_LEXICON_WORD"),
        ([LexiconEntry("x", alias="y" * 101)], "BAD_LEXICON_WORD"),
        ([LexiconEntry("x", "\N{CYRILLIC SMALL LETTER ZHE}")], "UNKNOWN_PHONEME"),
        ([LexiconEntry("x", "a" * 201)], "TOO_MANY_PHONEMES"),
        ([LexiconEntry(f"w{n}", "x") for n in range(MAX_ENTRIES + 1)], "LEXICON_TOO_LONG"),
    ],
)
def test_a_lexicon_that_says_nothing_is_refused(entries: list[LexiconEntry], reason: str):
    with pytest.raises(InvalidInputError) as refused:
        Lexicon(entries, "lexicon")
    assert (refused.value.reason, refused.value.field) == (reason, "lexicon")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "EMPTY_TEXT"),
        (" \n\t", "EMPTY_TEXT"),
        ("x" * (MAX_TEXT_CHARACTERS + 1), "TEXT_TOO_LONG"),
        ("🙂👋", "NOTHING_TO_SPEAK"),
        ("*** --- ```", "NOTHING_TO_SPEAK"),
        ("...", "NOTHING_TO_SPEAK"),
        ("bell \a", "CONTROL_CHARACTER"),
        ("nul \0", "CONTROL_CHARACTER"),
        ("half a pair \ud800", "CONTROL_CHARACTER"),
    ],
)
def test_what_cannot_be_spoken_is_refused(text: str, reason: str):
    with pytest.raises(InvalidInputError) as refused:
        sentences_of_text(text, NO_LEXICON, field="text")
    assert (refused.value.reason, refused.value.field) == (reason, "text")


def test_ssml_that_holds_nothing_to_speak_is_refused():
    for document in ("<speak/>", "<speak><break time='1s'/></speak>"):
        with pytest.raises(InvalidInputError, match="nothing to speak"):
            sentences_of_ssml(document, NO_LEXICON)
    with pytest.raises(InvalidInputError, match="at most 20,000"):
        sentences_of_ssml("x" * (MAX_SSML_CHARACTERS + 1), NO_LEXICON)


def test_the_speed_of_the_request_multiplies_that_of_the_markup():
    document = '<speak><prosody rate="50%">slow</prosody> <prosody rate="1.5">fast</prosody></speak>'
    (sentence,) = sentences_of_ssml(document, NO_LEXICON, 1.5)
    assert [part.speed for part in sentence.parts] == [0.75, 2.0]


@pytest.mark.parametrize("speed", [0.49, 2.01, -1, float("inf"), float("nan")])
def test_a_speed_out_of_range_is_refused(speed: float):
    with pytest.raises(InvalidInputError, match=r"send 0\.5 to 2"):
        check_speed(speed, "speed")
    assert check_speed(0, "speed") == 1


def test_aliases_do_not_make_a_text_endless():
    lexicon = Lexicon([LexiconEntry("a", alias="and so on " * 10)])
    with pytest.raises(InvalidInputError, match="with its aliases"):
        sentences_of_text("a " * 4_000, lexicon)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ('<speak><say-as interpret-as="characters">' + "1" * 900 + "</say-as></speak>", 900),
        ('<speak><say-as interpret-as="digits">' + "1" * 900 + "</say-as></speak>", 900),
        ("<speak>" + "1" * 900 + "</speak>", 900),
        ("<speak>" + ('<phoneme ph="' + "wʌn " * 50 + '">x</phoneme> one ') * 40 + "</speak>", 40),
    ],
)
def test_nothing_of_a_long_text_is_lost(document: str, words: int):
    sentences = list(sentences_of_ssml(document, NO_LEXICON))
    assert sum(len(re.findall(r"\bone\b", part.text)) for one in sentences for part in one.parts) == words
    _assert_taken(sentences)


@given(st.text(max_size=400))
def test_parts_are_what_the_model_takes(text: str):
    try:
        _assert_taken(list(itertools.islice(sentences_of_text(text, NO_LEXICON), 100)))
    except InvalidInputError:
        return


def _assert_taken(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        assert 1 <= len(sentence.parts) <= 256
        assert sum(len(part.text) + len(part.phonemes) for part in sentence.parts) <= 2_000
        assert "".join(part.text for part in sentence.parts).isprintable()
