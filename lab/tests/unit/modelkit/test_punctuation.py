"""Labels of well-written text."""

from __future__ import annotations

import pytest

from engines.bert.punctuating import CAPITAL, LOWER, UPPER
from modelkit.punctuation import COMMA, IGNORED, NO_MARK, PERIOD, QUESTION, collect_spellings, is_question, label
from modelkit.scoring import class_f1


def labels(text: str) -> list[tuple[str, int]]:
    return [(word.text, word.mark) for word in label(text)]


def test_words_are_labelled_with_what_follows_them_and_with_their_case():
    words = label("Well, is the BBC's van here? Anna's iPhone rang.")
    assert [word.text for word in words] == ["well", "is", "the", "bbc's", "van", "here", "anna's", "iphone", "rang"]
    assert [word.mark for word in words] == [COMMA, *[NO_MARK] * 4, QUESTION, NO_MARK, NO_MARK, PERIOD]
    assert [word.case for word in words] == [CAPITAL, LOWER, LOWER, UPPER, LOWER, LOWER, CAPITAL, IGNORED, LOWER]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Stop it!", [NO_MARK, PERIOD]),
        ("Is it?!", [NO_MARK, QUESTION]),
        ("One; two: three - four.", [COMMA, COMMA, COMMA, PERIOD]),
        ("A well-known thing.", [NO_MARK, NO_MARK, NO_MARK, PERIOD]),
        ("Wait... what is (really) here…", [COMMA, NO_MARK, NO_MARK, NO_MARK, PERIOD]),
        ('He said, "Hello."', [NO_MARK, COMMA, PERIOD]),
        ("See LINKREMOVED here.It works.", [NO_MARK, PERIOD, NO_MARK, PERIOD]),
        ("It costs $23.50, I think.", [NO_MARK, NO_MARK, COMMA, NO_MARK, PERIOD]),
    ],
)
def test_every_mark_is_one_of_four(text: str, marks: list[int]):
    assert [mark for _, mark in labels(text)] == marks


def test_what_follows_the_last_sentence_is_left_out():
    assert labels("It works. But the las") == [("it", NO_MARK), ("works", PERIOD)]


@pytest.mark.parametrize(
    "text", ["", "no end", "it works. so i think. yes it does.", "Yes. so i think.", "BUY THIS NOW."]
)
def test_careless_text_is_left_out(text: str):
    assert label(text) == []


def test_a_question_begins_with_a_capital_and_has_one_end():
    asked = ("Who is it?", "Who is it? Me.", "It is me.")
    assert [is_question(label(text)) for text in asked] == [True, False, False]


def test_spellings_are_those_that_are_common_and_mostly_so():
    texts = (*["My iPhone rang."] * 4, *["My eBook fell."] * 3, "The PCs fell.")
    words = [word for text in texts for word in label(text)]
    words += [word for _ in range(5) for word in label("Some McDonald met a mcdonald and a mcdonald.")]
    assert collect_spellings(words) == {"iphone": "iPhone"}


def test_f1_of_a_class():
    assert class_f1([(1, 1), (1, 0), (0, 1), (0, 0)], 1) == 0.5
    assert class_f1([(0, 0)], 1) == 1.0
    assert class_f1([(0, 1)], 1) == 0.0
